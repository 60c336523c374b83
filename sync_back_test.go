package pleat_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// clocked is a program that puts the time behind its history in every request, and keeps none of it.
type clocked struct {
	t       *testing.T
	s       *pleat.Session
	history []pleat.Message
	append  bool // it appends the answer and the results before it hands over the next history
	kept    bool // it hands over the answer with the time still there
	window  int  // how many messages it hands over at most; 0: all
	forks   int
}

func (c *clocked) sync(history []pleat.Message) {
	c.t.Helper()
	if c.window > 0 {
		history = history[max(0, len(history)-c.window):]
	}
	did, err := c.s.Sync(c.t.Context(), history)
	must(c.t, err)
	if !did.Appended {
		c.t.Logf("%+v", did)
		c.forks++
	}
}

func clock(n int) pleat.Message { return pleat.User(fmt.Sprintf("<env>clock%dtime</env>", n)) }

func (c *clocked) turn(n int) {
	request := append(slices.Clip(c.history), clock(n))
	c.sync(request)
	view(c.t, c.s)
	id, out := fmt.Sprint("call_", n), strings.Repeat(fmt.Sprintf("line %d\n", n), 40)
	answer := []pleat.Message{
		pleat.Assistant(pleat.Say("Next."), pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d.go"}`, n))),
		pleat.Results(pleat.Result(id, out)),
	}
	if n%3 == 0 {
		answer = []pleat.Message{say(fmt.Sprint("Answer ", n)), pleat.User(fmt.Sprint("Question ", n))}
	}
	switch {
	case c.append && n%3 == 0:
		must(c.t, c.s.Append(c.t.Context(), answer[0]))
	case c.append:
		must(c.t, c.s.Append(c.t.Context(), answer...))
	case c.kept:
		c.sync(append(request, answer[0]))
	}
	c.history = append(c.history, answer...)
}

// TestSyncReplaced has a message of the user's at the end of each request that the next one lacks. Whether
// the program appends answers or not, views, search and the restored session do not know it.
func TestSyncReplaced(t *testing.T) {
	const turns = 150
	for name, c := range map[string]*clocked{
		"synced": {}, "appended": {append: true}, "answer first": {kept: true}, "window": {window: 12},
	} {
		for _, window := range []int{200_000, 8_000} {
			t.Run(fmt.Sprint(name, " ", window), func(t *testing.T) {
				c := *c
				st, o := store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: window}, Tools: pleat.RecallTools()}
				c.t, c.s, c.history = t, open(t, st, o), []pleat.Message{pleat.User("Go on.")}
				for n := range turns {
					c.turn(n)
				}
				c.sync(c.history)
				entries := 0
				for _, err := range st.Scan(t.Context(), c.s.Key(), 1) {
					must(t, err)
					entries++
				}
				if c.forks > 0 || c.s.Len() != len(c.history) || entries > 5*turns {
					t.Errorf("%d forks, %d messages of %d, %d entries", c.forks, c.s.Len(), len(c.history), entries)
				}
				if !sameBlocks(t, c.s, c.history) {
					t.Error("the session has other messages")
				}
				was := allText(view(t, c.s))
				if strings.Contains(was, "<env>") {
					t.Errorf("the view shows what was taken back: %s", was)
				}
				if again := open(t, st, o); allText(view(t, again)) != was || again.Len() != c.s.Len() {
					t.Error("the session opened again shows something else")
				}
				found, err := c.s.Search(t.Context(), pleat.SearchRequest{Queries: []string{"clock17time"}})
				if must(t, err); len(found.Answers[0].Hits) > 0 {
					t.Errorf("search finds what was taken back: %+v", found.Answers[0].Hits)
				}
				words, _ := inside.Of(c.s).UserWords()
				for _, said := range words {
					if strings.Contains(said.Text, "<env>") {
						t.Errorf("the user is quoted with %q", said.Text)
					}
				}
				fork := mustSync(t, c.s, append(c.history[:len(c.history)-3:len(c.history)-3], say("Otherwise.")))
				if fork == c.s || strings.Contains(allText(view(t, fork)), "<env>") {
					t.Errorf("%s shows %s", fork.Key(), allText(view(t, fork)))
				}
			})
		}
	}
}

// TestSyncBackAlone: without the messages behind it, what is taken back is taken back, too. The view is that
// of a session that never had it.
func TestSyncBackAlone(t *testing.T) {
	all := turns(4, 200)
	for n := 2; n <= len(all); n += 2 {
		st := store.NewMemory()
		s, plain := open(t, st, nil), open(t, store.NewMemory(), nil)
		must(t, s.Append(t.Context(), append(slices.Clip(all[:n]), clock(1), clock(2))...))
		must(t, plain.Append(t.Context(), all[:n]...))
		did, err := s.Sync(t.Context(), all[:n])
		if must(t, err); !did.Appended || did.Back != 2 || s.Len() != n {
			t.Fatalf("%+v, %d messages of %d", did, s.Len(), n)
		}
		for _, s := range []*pleat.Session{s, open(t, st, nil)} {
			if got, want := s.Snapshot(), plain.Snapshot(); got.Tokens != want.Tokens || got.Messages != want.Messages {
				t.Errorf("the meter says %+v, want %+v", got, want)
			}
			got, want := s.Ledger(pleat.LedgerFilter{}), plain.Ledger(pleat.LedgerFilter{})
			if fmt.Sprint(got) != fmt.Sprint(want) || allText(view(t, s)) != allText(view(t, plain)) {
				t.Errorf("ledger %v, want %v", got, want)
			}
		}
	}
}

// TestSyncBackKept: a message that somebody answered stays, and so does one that a fold stands for; a
// history that lacks it goes on in a fork.
func TestSyncBackKept(t *testing.T) {
	u, a := pleat.User, say
	for name, c := range map[string]struct{ was, then []pleat.Message }{
		"answered twice": {
			[]pleat.Message{u("0"), a("1"), u("2"), u("x"), a("3"), u("4"), a("5")},
			[]pleat.Message{u("0"), a("1"), u("2"), a("3"), u("4"), a("5")},
		},
		"all of it":    {[]pleat.Message{u("x")}, []pleat.Message{u("1"), a("2")}},
		"more is gone": {[]pleat.Message{u("1"), a("2"), u("x"), a("4")}, []pleat.Message{u("1"), a("2"), a("5")}},
	} {
		s := open(t, store.NewMemory(), nil)
		must(t, s.Append(t.Context(), c.was...))
		if next := mustSync(t, s, c.then); next == s || allText(view(t, next)) != allText(c.then) {
			t.Errorf("%s: %s shows %s", name, next.Key(), allText(view(t, next)))
		}
	}
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}})
	all := append(turns(30, 2_000), clock(1), say("Seen."))
	must(t, s.Append(t.Context(), all...))
	compact(t, s)
	then := append(all[:len(all)-2:len(all)-2], all[len(all)-1], u("And?"))
	folds := s.Folds()
	next := mustSync(t, s, then)
	if kept := slices.ContainsFunc(folds, func(f *fold.Fold) bool { return f.End > len(all)-2 }); (next != s) != kept || next.Len() != len(then) {
		t.Errorf("folded: %v, %s has %d messages of %d", kept, next.Key(), next.Len(), len(then))
	}
}

// TestSyncBackAtOnce: what is taken back and what comes instead are written at once.
func TestSyncBackAtOnce(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	var last []store.EntryKind
	st.before = func(entries []store.Entry) {
		last = nil
		for _, e := range entries {
			last = append(last, e.Kind)
		}
	}
	s := open(t, st, nil)
	for _, h := range [][]pleat.Message{{pleat.User("Go."), clock(1)}, {pleat.User("Go."), say("Yes."), clock(2)}} {
		_, err := s.Sync(t.Context(), h)
		must(t, err)
	}
	want := []store.EntryKind{store.EntryBack, store.EntryMessage, store.EntryMessage}
	if !slices.Equal(last, want) {
		t.Errorf("the last write had %v, want %v", last, want)
	}
}

// TestSyncBackCorrupt: a store that takes back what is no message of the user is damaged.
func TestSyncBackCorrupt(t *testing.T) {
	for _, data := range []string{
		`{"message":0,"messages":1}`, `{"message":3,"messages":1}`, `{"message":1,"messages":9}`, `{"message":2,"messages":0}`,
		`{"message":-1,"messages":2}`, `{"message":2,"messages":-1}`, `{"message":9223372036854775807,"messages":1}`,
	} {
		st := store.NewMemory()
		s := open(t, st, nil)
		must(t, s.Append(t.Context(), turns(1, 60)...))
		n := uint64(0)
		for e := range st.Scan(t.Context(), s.Key(), 1) {
			n = e.Seq
		}
		_, err := st.Append(t.Context(), s.Key(), n, store.Entry{Kind: store.EntryBack, Data: []byte(data)})
		must(t, err)
		if _, err := pleat.OpenSession(t.Context(), st, s.Key(), nil); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestSyncBackRandom has a program hand over histories of few words with messages at their end that come and go,
// append some of the answers, and go another way now and then: the session shows the newest history, and
// so does one that is opened again.
func TestSyncBackRandom(t *testing.T) {
	forks := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		st := store.NewMemory()
		all, s := []pleat.Message{system("Be careful."), pleat.User("Go on.")}[r.IntN(2):], open(t, st, nil)
		for step := range 30 {
			given := slices.Clip(all)
			for range r.IntN(3) {
				given = append(given, clock(r.IntN(3)))
			}
			did, err := s.Sync(t.Context(), given)
			if must(t, err); !did.Appended {
				forks++
			}
			again := openKey(t, st, s.Key(), nil)
			for _, s := range []*pleat.Session{s, again} {
				if got := allText(view(t, s)); got != allText(given) || s.Snapshot() != again.Snapshot() {
					t.Fatalf("seed %d, step %d: %+v, %s shows\n%s\nwant\n%s", seed, step, did, s.Key(), got, allText(given))
				}
			}
			var answer []pleat.Message
			switch id := fmt.Sprint("c", step); r.IntN(4) {
			case 0:
				answer = []pleat.Message{poll(id), polled(id)}
			case 1:
				answer = []pleat.Message{say("Shall I?"), pleat.User([]string{"yes", "no"}[r.IntN(2)])}
			case 2:
				answer = []pleat.Message{say(fmt.Sprint("Answer ", step)), pleat.User("Go on.")}
			default:
				answer = []pleat.Message{poll(id), polled(id), say("Done."), pleat.User("Go on.")}
			}
			if r.IntN(2) == 0 {
				must(t, s.Append(t.Context(), answer[:1+r.IntN(2)]...))
			}
			all = append(all, answer...)
			if r.IntN(10) == 0 {
				all = all[:2+r.IntN(len(all)-2)]
				for all[len(all)-1].Role() == transcript.RoleAssistant {
					all = all[:len(all)-1]
				}
			}
		}
	}
	if forks == 0 || forks > 500 {
		t.Errorf("%d forks of 1,800 histories", forks)
	}
	t.Logf("%d forks", forks)
}

// TestSyncShortened: text at the end of the newest message, beside results or in one, leaves the session as a message
// does, here and where it is read back.
func TestSyncShortened(t *testing.T) {
	st, key := store.NewMemory(), pleat.Key{Session: "s"}
	s, err := pleat.OpenSession(t.Context(), st, key, nil)
	must(t, err)
	call := func(id string) pleat.Message { return pleat.Assistant(pleat.Call(id, "read", "{}")) }
	beside := func(texts ...string) pleat.Message {
		blocks := []transcript.Block{pleat.Result("c1", "one")}
		for _, text := range texts {
			blocks = append(blocks, pleat.Say(text))
		}
		return transcript.NewMessage(transcript.RoleUser, blocks...)
	}
	system := transcript.NewMessage(transcript.RoleSystem, pleat.Say("It is six."))
	history := []pleat.Message{pleat.User("Go."), call("c1"), beside("And then?"), call("c2"), pleat.Results(pleat.Result("c2", "two")), say("Done.")}
	for _, sent := range [][]pleat.Message{
		append(slices.Clone(history[:2]), beside("And then?", "It is five."), system),
		append(slices.Clone(history[:4]), pleat.Results(pleat.Result("c2", "two\nIt is seven."))),
		history,
	} {
		did, err := s.Sync(t.Context(), sent)
		if must(t, err); !did.Appended {
			t.Errorf("%+v", did)
		}
	}
	again, err := pleat.OpenSession(t.Context(), st, key, nil)
	must(t, err)
	for _, s := range []*pleat.Session{s, again} {
		msgs, err := s.Messages(t.Context())
		if must(t, err); len(msgs) != len(history) {
			t.Errorf("%d messages", len(msgs))
		}
		said, _ := inside.Of(s).UserWords()
		if text := fmt.Sprint(msgs, said); strings.Contains(text, "It is") || len(said) != 2 || said[1].Text != "And then?" {
			t.Errorf("it has %s", text)
		}
		found, err := s.Search(t.Context(), pleat.SearchRequest{Queries: []string{"It is"}})
		if must(t, err); len(found.Answers[0].Hits) != 0 {
			t.Errorf("search finds %+v", found)
		}
	}
}
