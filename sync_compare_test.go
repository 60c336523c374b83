package pleat_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// poll is a call that says the same whatever its id is; polled is its result.
func poll(id string) pleat.Message   { return pleat.Assistant(pleat.Call(id, "status", `{}`)) }
func polled(id string) pleat.Message { return pleat.Results(pleat.Result(id, "pending")) }

func system(text string) pleat.Message {
	return transcript.NewMessage(transcript.RoleSystem, pleat.Say(text))
}

// TestSyncAskedAgain has a model make the same call with another id.
func TestSyncAskedAgain(t *testing.T) {
	small := &pleat.Options{Budget: pleat.Budget{Window: 8_000}}
	for name, before := range map[string][]pleat.Message{
		"short": {pleat.User("Build it.")}, "folded": turns(20, 2_000), "abandoned": {poll("x"), pleat.User("Again.")},
	} {
		s := mustSync(t, open(t, store.NewMemory(), small), before)
		if name == "folded" {
			before = view(t, s) // and stored back
		}
		before = before[:len(before):len(before)]
		s = mustSync(t, s, append(before, poll("a")))
		next := mustSync(t, s, append(before, poll("b"), polled("b")))
		if bad := next.Violations(); len(bad) > 0 && name != "abandoned" {
			t.Errorf("%s: %v", name, bad)
		}
		if msgs := view(t, next); next == s || msgs[len(msgs)-2].Blocks().At(0).(pleat.ToolCall).ID != "b" {
			t.Errorf("%s goes on in %s with %v", name, next.Key(), msgs[len(msgs)-2])
		}
		renamed := append(before, poll("c"), polled("c"), pleat.User("And?"))
		if last := mustSync(t, next, renamed); last != next || last.Len() != next.Len() {
			t.Errorf("%s: ids that a program makes anew are taken for an edit: %s", name, last.Key())
		}
	}
}

// TestSyncPolling hands over the newest messages only, which differ by ids alone.
func TestSyncPolling(t *testing.T) {
	for _, window := range []int{4, 6, 7, 12} {
		for _, begin := range [][]pleat.Message{{system("Wait."), pleat.User("Deploy it.")}, {system("Wait.")}} {
			s := open(t, store.NewMemory(), nil)
			said := begin[1:]
			for i := range 30 {
				id := fmt.Sprint("p", i)
				said = append(said, poll(id), polled(id))
				given := append(begin[:1:1], said[max(0, len(said)-window):]...)
				if next := mustSync(t, s, given); next != s {
					t.Fatalf("poll %d of %d went on in %s", i, window, next.Key())
				}
			}
			// That nobody spoke before the first answer is the history's own.
			if bad := s.Violations(); s.Len() != len(said)+1 || len(bad) > 2-len(begin) {
				t.Errorf("window %d: %d messages of %d, %v", window, s.Len(), len(said)+1, bad)
			}
		}
	}
}

// TestSyncSystemNumber has system messages come, go and change, and looks at them in the view and
// in that of the session opened again.
func TestSyncSystemNumber(t *testing.T) {
	u, a := pleat.User, func(text string) pleat.Message { return pleat.Assistant(pleat.Say(text)) }
	talk := []pleat.Message{u("1"), a("2"), u("3"), a("4"), u("5"), a("6"), u("7")}
	type step struct {
		systems  string // their texts
		from, to int    // of the talk
	}
	for _, steps := range [][]step{
		{{"", 0, 3}, {"RULES", 0, 5}},
		{{"", 0, 1}, {"RULES", 0, 1}},
		{{"A", 0, 5}, {"A SUMMARY", 2, 7}, {"A", 2, 7}},
		{{"A", 0, 1}, {"B", 0, 3}, {"", 0, 5}, {"B", 0, 5}},
		{{"A B", 0, 1}, {"C", 0, 3}},
		{{"A", 0, 0}, {"A B", 0, 3}, {"C", 0, 5}},
	} {
		st := store.NewMemory()
		s := open(t, st, nil)
		for _, now := range steps {
			var history []pleat.Message
			for _, text := range strings.Fields(now.systems) {
				history = append(history, system(text))
			}
			want := append(history[:len(history):len(history)], talk[:now.to]...)
			history = append(history, talk[now.from:now.to]...)
			if next := mustSync(t, s, history); next != s {
				t.Fatalf("%v: %v went on in %s", steps, now, next.Key())
			}
			again := open(t, st, nil)
			for _, s := range []*pleat.Session{s, again} {
				msgs := view(t, s)
				if got := allText(msgs); got != allText(want) {
					t.Errorf("%v: %v shows %s", steps, now, got)
				}
				if snap := s.Snapshot(); snap.Messages != len(msgs) || int(snap.Tokens) < countAll(msgs) {
					t.Errorf("%v: %v: the meter says %d tokens, %d messages", steps, now, snap.Tokens, snap.Messages)
				}
			}
		}
	}
}

// TestSyncRenamedResults hands over calls under other ids, with their results in another order:
// a result belongs to the call that it answers, wherever both stand.
func TestSyncRenamedResults(t *testing.T) {
	round := func(a, b, c string, results ...pleat.ToolResult) []pleat.Message {
		return []pleat.Message{
			pleat.User("Look."),
			pleat.Assistant(pleat.Call(a, "ls", `{}`), pleat.Call(b, "ls", `{}`), pleat.Call(c, "pwd", `{}`)),
			pleat.Results(results...), say("Seen."), pleat.User("Go on."),
		}
	}
	r := pleat.Result
	for _, tt := range []struct {
		name    string
		history []pleat.Message
		same    bool
	}{
		{"renamed", round("x", "y", "z", r("x", "1"), r("y", "2"), r("z", "3")), true},
		{"and in another order", round("x", "y", "z", r("z", "3"), r("x", "1"), r("y", "2")), true},
		{"with ids of other calls", round("b", "c", "a", r("a", "3"), r("b", "1"), r("c", "2")), true},
		{"with other results", round("x", "y", "z", r("y", "1"), r("x", "2"), r("z", "3")), false},
	} {
		s := mustSync(t, open(t, store.NewMemory(), nil),
			round("a", "b", "c", r("a", "1"), r("b", "2"), r("c", "3"))[:4])
		if next := mustSync(t, s, tt.history); (next == s) != tt.same || len(next.Violations()) > 0 {
			t.Errorf("%s: goes on in %s: %v", tt.name, next.Key(), next.Violations())
		}
	}
}

// TestSyncCleared hands over results that a client has cleared: the session keeps the originals and their
// handles, and its view shows them, or stubs, as before. Any other change is an edit.
func TestSyncCleared(t *testing.T) {
	const sentence = "[Old tool result content cleared]"
	masked := func(now string) string { return "<tool_output_masked>\n" + now + "\n</tool_output_masked>" }
	for _, tt := range []struct {
		name, now, id string // the result that takes the place of an old one, and its id if it is another
		same          bool
	}{
		{name: "Qwen Code, opencode, Claude Code", now: sentence, same: true},
		{name: "Gemini CLI", now: masked("line\n\nOutput too large. Full output available at: /t/f.txt"), same: true},
		{
			name: "Claude Code, to a file", same: true,
			now: "<persisted-output>\nOutput too large (2KB). Full output saved to: /t/f.txt\n...\n</persisted-output>",
		},
		{name: "another sentence", now: "[cleared]"},
		{name: "something else besides", now: "First: " + sentence},
		{name: "begins like a mask", now: "<tool_output_masked>\nline"},
		{name: "the result of another call", now: sentence, id: "call_9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, o := store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}
			s, all := open(t, st, o), turns(20, 2_000)
			for n := 4; n <= 30; n += 2 {
				s = mustSync(t, s, all[:n])
				view(t, s)
			}
			was := allText(view(t, s))
			cleared := slices.Clone(all)
			for i := 3; i < 20; i += 2 {
				id := cmp.Or(tt.id, cleared[i].Blocks().At(0).(pleat.ToolResult).CallID)
				cleared[i] = pleat.Results(pleat.Result(id, tt.now))
			}
			if next := mustSync(t, s, cleared[:30]); (next == s) != tt.same {
				t.Fatalf("goes on in %s", next.Key())
			} else if !tt.same {
				return
			}
			if got := allText(view(t, s)); got != was {
				t.Errorf("the view changed:\n%s", got)
			}
			for n := 32; n <= len(all); n += 2 {
				if next := mustSync(t, s, cleared[:n]); next != s || next.Len() != n {
					t.Fatalf("message %d goes on in %s", n, next.Key())
				}
				if shown := view(t, s); strings.Contains(allText(shown), tt.now) {
					t.Fatal("the view shows what the client put there")
				}
			}
			r, _ := s.Answer(t.Context(), pleat.Call("c", "unfold", `{"handle":"#3"}`))
			if !strings.Contains(r.Text(), "133 lines") || !strings.Contains(r.Text(), "\tline of file 2") {
				t.Errorf("the third call gave %.200q", r.Text())
			}
		})
	}
}

// TestSyncInputs has a program write the inputs of calls anew: the same object is the same input, what is
// no object is compared byte for byte.
func TestSyncInputs(t *testing.T) {
	for _, tt := range []struct {
		was, now string
		same     bool
	}{
		{`{"path": "a.go", "n": 1.50}`, `{"n":1.50,"path":"a.go"}`, true},
		{`{"a":"<b>"}`, `{"a":"\u003cb\u003e"}`, true},
		{`{"path":"a.go"}`, `{"path":"b.go"}`, false},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, false},
		{`{"n": 1`, `{"n":1`, false},
		{`[1, 2]`, `[1,2]`, false},
		{"a  patch", "a patch", false},
	} {
		st := store.NewMemory()
		history := func(input string) []pleat.Message {
			return append(turns(3, 60), pleat.Assistant(pleat.Call("zz", "edit", input)),
				pleat.Results(pleat.Result("zz", "ok")), pleat.Assistant(pleat.Say("Done.")), pleat.User("And?"))
		}
		mustSync(t, open(t, st, nil), history(tt.was))
		s := open(t, st, nil) // as stored
		if next := mustSync(t, s, history(tt.now)); (next == s) != tt.same {
			t.Errorf("%s after %s goes on in %s", tt.now, tt.was, next.Key())
		}
	}
}

// TestSyncAskedTheSame slides over a history that says the same again and again.
func TestSyncAskedTheSame(t *testing.T) {
	ask := pleat.User("Is it done?")
	all := []pleat.Message{
		pleat.User("Build it. Is it done?"), say("No."), ask, say("No."), ask, say("Half."), ask, say("No."), ask,
		say("Nearly."), ask, say("Yes."),
	}
	for _, window := range []int{4, 5, 6, 7} {
		s := open(t, store.NewMemory(), nil)
		for n := 2; n <= len(all); n += 2 {
			if next := mustSync(t, s, all[max(0, n-window):n]); next != s {
				t.Fatalf("%d messages of %d go on in %s", window, n, next.Key())
			}
		}
		if got := allText(view(t, s)); got != allText(all) {
			t.Errorf("%d messages: %s", window, got)
		}
	}
}

// TestSyncRepeatedWords edits and takes back turns of whole histories whose turns say the same: what
// was taken back is not sent.
func TestSyncRepeatedWords(t *testing.T) {
	ask, ok, on := pleat.User("Build it."), say("OK."), pleat.User("Go on.")
	words := []pleat.Message{ask, ok, on, ok, on, ok, on}
	polls := []pleat.Message{ask, poll("1"), polled("1"), poll("1"), polled("1"), poll("1"), polled("1")}
	for _, all := range [][]pleat.Message{words, polls} {
		for n := 3; n < len(all); n += 2 {
			for _, more := range [][]pleat.Message{nil, {say("Now the rest.")}, {say("No."), pleat.User("Stop.")}} {
				then := append(all[:n:n], more...)
				next := mustSync(t, mustSync(t, open(t, store.NewMemory(), nil), all), then)
				if got := allText(view(t, next)); got != allText(then) {
					t.Errorf("%d messages kept and %d more: %s", n, len(more), got)
				}
			}
		}
	}
}

// TestSyncRepeatedAnswer takes back what stands between two answers that say the same, and says the
// newest words again.
func TestSyncRepeatedAnswer(t *testing.T) {
	ask, shall := pleat.User("Drop table users?"), say("Shall I?")
	yes, no, kept := pleat.User("yes"), pleat.User("no"), say("It is kept.")
	for _, begin := range [][]pleat.Message{nil, {system("Be careful.")}} {
		for name, c := range map[string]struct{ was, then []pleat.Message }{
			"a question":       {[]pleat.Message{ask, shall, yes, shall, no}, []pleat.Message{ask, shall, no}},
			"and a new answer": {[]pleat.Message{ask, shall, yes, shall, no}, []pleat.Message{ask, shall, no, kept}},
			"and its answer":   {[]pleat.Message{ask, shall, yes, shall, no, kept}, []pleat.Message{ask, shall, no, kept}},
			"the first question": {
				[]pleat.Message{ask, shall, yes, shall, ask, shall, no}, []pleat.Message{ask, shall, no},
			},
			"after calls": {
				[]pleat.Message{ask, poll("1"), polled("1"), shall, yes, shall, no, kept},
				[]pleat.Message{ask, poll("1"), polled("1"), shall, no, kept},
			},
		} {
			s := mustSync(t, open(t, store.NewMemory(), nil), slices.Concat(begin, c.was))
			then := slices.Concat(begin, c.then)
			if next := mustSync(t, s, then); next == s || allText(view(t, next)) != allText(then) {
				t.Errorf("%s: %s shows %s", name, next.Key(), allText(view(t, next)))
			}
		}
	}
	all := []pleat.Message{ask, shall, yes, shall, no, kept, pleat.User("Thanks.")}
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	if next := mustSync(t, s, slices.Concat(all[:2], all[4:], []pleat.Message{say("Anything else?")})); next != s {
		t.Errorf("the newest answer and what was said to it do not tell that messages are missing: %s", next.Key())
	}
}

// TestSyncRepeatedRandom takes back whole histories of few words, where answers say the same all the
// time, or at first, and goes on in as few words: what was taken back is not shown.
func TestSyncRepeatedRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		repeats, answers := []int{1_000, r.IntN(12)}[seed%2], 0
		begin := append([]pleat.Message{system("Be careful.")}[:r.IntN(2)], pleat.User("Go on."))
		all, s := begin, open(t, store.NewMemory(), nil)
		for step := range 30 {
			if r.IntN(3) == 0 {
				all = all[:len(begin)+2*r.IntN((len(all)-len(begin))/2+1)]
			}
			for range 1 + r.IntN(3) {
				answer := say("Shall I?")
				if answers++; answers > repeats {
					answer = say(fmt.Sprint("Answer ", answers))
				}
				all = append(all, answer, pleat.User([]string{"Go on.", "yes", "no"}[r.IntN(3)]))
			}
			given := all[:len(all)-r.IntN(2)]
			if s = mustSync(t, s, given); allText(view(t, s)) != allText(given) {
				t.Fatalf("seed %d, step %d: %s shows\n%s\nwant\n%s",
					seed, step, s.Key(), allText(view(t, s)), allText(given))
			}
		}
	}
}

// TestSyncTakenBack takes a conversation back to where it ends in words that it began with: what
// was said in between is not new.
func TestSyncTakenBack(t *testing.T) {
	all := []pleat.Message{pleat.User("Build it."), say("OK."), pleat.User("Go on.")}
	for i := range 6 {
		id := fmt.Sprint("p", i)
		all = append(all, poll(id), polled(id))
	}
	all = append(all, say("OK."), pleat.User("Go on."))
	for n := 5; n < len(all)-1; n += 2 {
		s := mustSync(t, open(t, store.NewMemory(), nil), all)
		if next := mustSync(t, s, all[:n]); next == s || next.Len() != n || s.Len() != len(all) {
			t.Errorf("%d messages go on in %s, which has %d", n, next.Key(), next.Len())
		}
		edited := append(all[:n:n], say("Another answer."))
		if next := mustSync(t, s, edited); next == s || next.Len() != n+1 {
			t.Errorf("an edit of message %d goes on in %s, which has %d", n, next.Key(), next.Len())
		}
	}
	cleared := append(slices.Clone(all), say("Now the rest."))
	for i := 4; i < len(all)-2; i += 2 {
		cleared[i] = pleat.Results(pleat.Result(fmt.Sprint("p", i/2-2), "[cleared]"))
	}
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	if next := mustSync(t, s, cleared); next == s || next.Len() != len(cleared) {
		t.Errorf("cleared results go on in %s, which has %d messages", next.Key(), next.Len())
	}
}
