package pleat_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// storedBack is a session with a history that is its view, as programs keep it that store the view
// back, right after an epoch opened.
func storedBack(t *testing.T, st store.Store, o *pleat.Options) (*pleat.Session, []pleat.Message) {
	t.Helper()
	s, all := open(t, st, o), turns(60, 2_000)
	history := all[:2:2]
	for n := 2; n < len(all); n += 2 {
		epochs := len(s.Report().Epochs)
		s = mustSync(t, s, append(history, all[n:n+2]...))
		history = slices.Clip(view(t, s))
		if now := s.Report(); epochs > 1 && len(now.Epochs) > epochs && now.Epochs[epochs].Messages == s.Len() {
			return s, history
		}
	}
	t.Fatal("no epoch opened")
	return nil, nil
}

// TestSyncEditedView edits a view that was stored back, in messages that its epoch had when it
// opened: the fork shows what stands before them as the session did, and knows its handles.
func TestSyncEditedView(t *testing.T) {
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}
	regenerated := pleat.Assistant(pleat.Call("again", "read_file", `{"path":"other.go"}`))
	more := []pleat.Message{pleat.Results(pleat.Result("again", "package other")), pleat.Assistant(pleat.Say("Done."))}
	for name, edit := range map[string]func(h []pleat.Message) []pleat.Message{
		"regenerated": func(h []pleat.Message) []pleat.Message { return append(h[:len(h)-2:len(h)-2], regenerated) },
		"taken back":  func(h []pleat.Message) []pleat.Message { return h[:len(h)-2] },
		"removed": func(h []pleat.Message) []pleat.Message {
			return append(h[:len(h)-4:len(h)-4], h[len(h)-2:]...)
		},
		"asked otherwise": func(h []pleat.Message) []pleat.Message {
			return append(h[:len(h)-1:len(h)-1], pleat.Results(pleat.Result(callOf(h[len(h)-2]), "empty")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := store.NewMemory()
			s, history := storedBack(t, st, o)
			edited := edit(history)
			same := 0
			for same < len(edited) && allText(history[same:same+1]) == allText(edited[same:same+1]) {
				same++
			}
			fork := mustSync(t, s, edited)
			if want := s.Len() - len(history) + len(edited); fork == s || fork.Len() != want {
				t.Fatalf("it goes on in %s with %d messages of %d", fork.Key(), fork.Len(), want)
			}
			for _, f := range []*pleat.Session{fork, openKey(t, st, fork.Key(), o)} {
				if shown := view(t, f); allText(shown[:same]) != allText(history[:same]) {
					t.Errorf("the fork shows\n%.600s\nwant\n%.600s", allText(shown[:same]), allText(history[:same]))
				}
				known := 0
				for _, fd := range s.Report().Folds {
					if fd.End > f.Len()-(len(edited)-same) {
						continue
					}
					known++
					r, _ := f.Answer(t.Context(), pleat.Call("c", "unfold", fmt.Sprintf(`{"handle":%q}`, fd.Handle)))
					if r.Error {
						t.Errorf("recall %s: %s", fd.Handle, r.Text())
					}
				}
				if known == 0 || len(f.Report().Folds) != known {
					t.Errorf("%d folds are in force, %d of the session's are before the edit", len(f.Report().Folds), known)
				}
			}
			if again := mustSync(t, s, edited); again.Key() != fork.Key() {
				t.Errorf("the same edit is session %s, then %s", fork.Key(), again.Key())
			}
			if edited = slices.Clip(edited); name == "regenerated" {
				edited = append(edited, more...)
			} else {
				edited = append(edited, more[1])
			}
			if next := mustSync(t, fork, edited); next != fork || len(fork.Violations()) > 0 {
				t.Errorf("it goes on in %s: %v", next.Key(), fork.Violations())
			}
		})
	}
}

// TestSyncForkCutShort: a fork that has no more than its copy of the session, because whoever made
// it was killed, or has just made it, gets its epoch from the next.
func TestSyncForkCutShort(t *testing.T) {
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}
	var made pleat.Key
	var folds int
	for _, killed := range []bool{false, true} {
		st := store.NewMemory()
		s, history := storedBack(t, st, o)
		if killed {
			upTo := uint64(0)
			for e, err := range st.Scan(t.Context(), s.Key(), 1) {
				must(t, err)
				if e.Kind == store.EntryMessage {
					upTo = e.Seq - 1
				}
			}
			must(t, pleat.Fork(t.Context(), st, s.Key(), upTo, made, nil))
		}
		fork := mustSync(t, s, append(history[:len(history)-1:len(history)-1],
			pleat.Results(pleat.Result(callOf(history[len(history)-2]), "empty"))))
		if killed && (fork.Key() != made || len(fork.Folds()) != folds) {
			t.Errorf("%s with %d folds, want %s with %d", fork.Key(), len(fork.Folds()), made, folds)
		}
		made, folds = fork.Key(), len(fork.Folds())
	}
}

// TestSyncEditedViewDigest: a fork has the model's digest that its page shows, as the base of the next.
func TestSyncEditedViewDigest(t *testing.T) {
	writer := pleattest.Always("<digest>\n### State\n- Read: src/file1.go, src/file2.go, src/file3.go.\n" +
		"- Handlers take their locks early.\n</digest>")
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: pleat.Budget{Window: 16_000}, Digest: digest.Options{Generator: writer, NoBackground: true},
	})
	pleattest.Talk(t, s, 0, 60)
	mustAppend(t, s, say("Yes."))
	compact(t, s)
	history := view(t, s)
	fork := mustSync(t, s, append(history[:len(history)-1:len(history)-1], say("Otherwise."), pleat.User("Go on.")))
	if got := fork.Report().Digests; fork == s || len(got) != 1 || got[0].By != "model" {
		t.Fatalf("%s has %v, the session %v", fork.Key(), got, s.Report().Digests)
	}
	pleattest.Talk(t, fork, 60, 60)
	view(t, fork)
	asked := writer.Requests()
	if text := allText(asked[len(asked)-1].Messages); len(asked) < 2 || !strings.Contains(text, "Handlers take their locks early.") {
		t.Errorf("request %d does not have the earlier digest: %.600s", len(asked), text)
	}
}

func callOf(m pleat.Message) string { return m.Blocks().At(0).(pleat.ToolCall).ID }

// madeAgain is an answer whose calls are made again, with other ids.
func madeAgain(m pleat.Message) pleat.Message {
	var calls []transcript.Block
	for _, b := range m.Blocks().All() {
		c := b.(pleat.ToolCall)
		c.ID = "again" + c.ID
		calls = append(calls, c)
	}
	return pleat.Assistant(calls...)
}

func openKey(t testing.TB, st store.Store, key pleat.Key, o *pleat.Options) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), st, key, o)
	must(t, err)
	return s
}

// talk is a conversation of n questions and answers in words.
func talk(n int) (all []pleat.Message) {
	for i := range n {
		all = append(all, pleat.User(fmt.Sprint("Question ", i)), say(fmt.Sprint("Answer ", i)))
	}
	return all
}

// TestSyncSlidAndEdited hands over the newest messages only, with one of them edited: what it has is another
// conversation, which begins as the session does if it has that.
func TestSyncSlidAndEdited(t *testing.T) {
	words, rounds := talk(12), append(turns(12, 200)[1:], say("Done."))
	for name, all := range map[string][]pleat.Message{"words": words, "rounds": rounds} {
		for _, head := range []int{0, 1, 2} {
			n := len(all) - 1
			given := slices.Concat(all[:head], all[n-8:n], []pleat.Message{say("Otherwise."), pleat.User("Go on.")})
			s := mustSync(t, open(t, store.NewMemory(), nil), all)
			fork := mustSync(t, s, given)
			if got := allText(view(t, fork)); fork == s || got != allText(given) {
				t.Fatalf("%s, %d kept: %s has\n%s\nwant\n%s", name, head, fork.Key(), got, allText(given))
			}
			if again := mustSync(t, s, given); again.Key() != fork.Key() {
				t.Errorf("the same edit is session %s, then %s", fork.Key(), again.Key())
			}
			if next := mustSync(t, fork, append(given, say("Yes."))); next != fork {
				t.Errorf("it goes on in %s", next.Key())
			}
		}
	}
}

// TestSyncSlidTooLittle: what only resembles a part of the session is another conversation.
func TestSyncSlidTooLittle(t *testing.T) {
	all := talk(12)
	repeated := slices.Concat(talk(2), []pleat.Message{pleat.User("Hi."), say("Hello."), pleat.User("Where is it?"), say("There.")},
		talk(2), []pleat.Message{pleat.User("Hi."), say("Hello."), pleat.User("Where is it?"), say("Here.")}, talk(2))
	ids := func(result string) []pleat.Message {
		return []pleat.Message{poll("1"), pleat.Results(pleat.Result("1", result)), say("It is " + result + ".")}
	}
	for name, c := range map[string]struct{ was, given []pleat.Message }{
		"a question":        {all, append(all[8:9:9], say("Otherwise."))},
		"an exchange":       {all, append(all[8:10:10], pleat.User("Something else."))},
		"twice":             {repeated, []pleat.Message{pleat.User("Hi."), say("Hello."), pleat.User("Where is it?"), say("Gone.")}},
		"begins otherwise":  {all, slices.Concat([]pleat.Message{pleat.User("Who?"), say("Me.")}, all[8:14], []pleat.Message{say("No.")})},
		"begins as it does": {append(talk(6), append(talk(2), pleat.User("Hm."), say("Yes."))...), append(talk(2), pleat.User("Hm."), say("No."))},
		"ids that many use": {
			slices.Concat([]pleat.Message{pleat.User("Look.")}, ids("red"), []pleat.Message{pleat.User("Look.")}, ids("green")),
			slices.Concat([]pleat.Message{pleat.User("Look.")}, ids("blue")),
		},
	} {
		s := mustSync(t, open(t, store.NewMemory(), nil), c.was)
		if next := mustSync(t, s, c.given); next == s || allText(view(t, next)) != allText(c.given) {
			t.Errorf("%s: %s has\n%s\nwant\n%s", name, next.Key(), allText(view(t, next)), allText(c.given))
		}
	}
}

// TestSyncEditedViewRandom goes on with views that were stored back, and edits them again and again:
// the view begins as it did before the edit, is legal, and all of its handles are known.
func TestSyncEditedViewRandom(t *testing.T) {
	handles := regexp.MustCompile(`unfold\("([a-z0-9]{8,})"\)`)
	inherited, policies := 0, policy.All()
	for seed := range uint64(20) {
		k := &talker{Rand: rand.New(rand.NewPCG(seed, 2)), all: []pleat.Message{pleat.User("Go on.")}}
		st := store.NewMemory()
		o := &pleat.Options{
			Budget: pleat.Budget{Window: 6_000}, Tools: pleat.RecallTools(), Policy: policies[seed%uint64(len(policies))],
		}
		s, history := open(t, st, o), k.all
		for step := range 60 {
			was := len(k.all)
			k.goOn()
			history = slices.Concat(history, k.all[was:])
			if next := mustSync(t, s, k.rejoined(history)); next != s {
				t.Fatalf("seed %d, step %d: it goes on in %s", seed, step, next.Key())
			}
			history = view(t, s)
			if step%6 != 5 {
				continue
			}
			at := len(history) - 1 - k.IntN(5)
			edited := append(history[:at:at], pleat.User(fmt.Sprint("No, otherwise ", step)))
			again := k.IntN(2) == 0 && history[at].Blocks().Has(transcript.KindToolCall)
			if again { // the calls are made again
				edited = append(edited[:at], madeAgain(history[at]))
				for _, c := range edited[at].Blocks().All() {
					id := c.(pleat.ToolCall).ID
					edited = append(edited, pleat.Results(pleat.Result(id, fmt.Sprint("otherwise ", step, id))))
				}
			}
			rejoined := k.IntN(2) == 0
			if rejoined {
				edited = k.rejoined(edited)
			}
			fork := mustSync(t, s, edited)
			epochs := len(fork.Report().Epochs)
			shown := view(t, fork)
			kept := again && len(fork.Report().Epochs) > epochs || rejoined && hasBlocks(shown, history[:at]) ||
				!rejoined && len(shown) > at && allText(shown[:at]) == allText(history[:at])
			// What nobody has answered is taken back.
			back := fork == s && at == len(history)-1 && history[at].Role() == transcript.RoleUser
			if fork == s && !back || !kept {
				t.Fatalf("seed %d, step %d: an edit of message %d of %d goes on in %s with %d messages",
					seed, step, at, len(history), fork.Key(), len(shown))
			}
			for _, found := range handles.FindAllStringSubmatch(allText(shown), -1) {
				if _, err := fork.Unfold(t.Context(), pleat.UnfoldRequest{Handle: found[1]}); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
			}
			if again := openKey(t, st, fork.Key(), o); allText(view(t, again)) != allText(shown) {
				t.Fatalf("seed %d, step %d: the fork opened again shows something else", seed, step)
			}
			s, history = fork, shown
			if f := fork.Report().Epochs; len(f) > 0 && f[len(f)-1].Messages < fork.Len() {
				inherited++
			}
		}
	}
	if inherited < 20 {
		t.Errorf("%d forks have folds", inherited)
	}
}
