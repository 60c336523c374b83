package pleat_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestSyncSpilledView: a view from before the first epoch has stubs of large results. It is known
// when an epoch opens before it is handed over, and later.
func TestSyncSpilledView(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 20_000}, Tools: pleat.RecallTools()})
	var h []pleat.Message
	for n := 2; n <= 8; n += 2 {
		s = mustSync(t, s, append(h, turns(5, 36_000)[n-2:n]...))
		h = view(t, s)
	}
	if _, err := s.Refused(t.Context(), nil); err != nil || s.Snapshot().Epoch == 0 {
		t.Fatal(s.Snapshot().Epoch, err)
	}
	n, was := s.Len(), h[:len(h):len(h)]
	if next := mustSync(t, s, append(was, pleat.Assistant(pleat.Say("Done.")), pleat.User("Again."))); next != s {
		t.Errorf("it goes on in %s", next.Key())
	}
	fork := mustSync(t, s, append(was, pleat.Assistant(pleat.Say("No.")), pleat.User("Never.")))
	if fork == s || fork.Len() != n+2 {
		t.Fatalf("another way goes on in %s with %d messages, it was shown of %d", fork.Key(), fork.Len(), n)
	}
	for _, f := range fork.Folds() {
		if _, err := fork.Unfold(t.Context(), pleat.UnfoldRequest{Handle: f.Handle}); err != nil {
			t.Error(err)
		}
	}
}

// TestSyncOldView hands over views of earlier epochs, with other messages behind them or with
// those that the session has.
func TestSyncOldView(t *testing.T) {
	var forks []pleat.Event
	st, o := store.NewMemory(), &pleat.Options{
		Budget: pleat.Budget{Window: 20_000}, Tools: pleat.RecallTools(),
		Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
			if e.Kind == pleat.EventFork {
				forks = append(forks, e)
			}
		},
	}
	s, all := open(t, st, o), turns(80, 2_000)
	big := turns(81, 60_000)[160:] // spilled as it arrives
	all = append(all, big[0], big[1])
	type old struct {
		view []pleat.Message
		n    int
	}
	var views []old
	for n := 62; n < len(all); n += 20 {
		s = mustSync(t, s, all[:n])
		views = append(views, old{view(t, s), n})
	}
	s = mustSync(t, s, all)
	view(t, s)
	if len(s.Report().Epochs) < 4 {
		t.Fatalf("%d epochs", len(s.Report().Epochs))
	}
	for i, v := range views {
		v.view = v.view[:len(v.view):len(v.view)]
		if next := mustSync(t, s, append(v.view, all[v.n:]...)); next != s || s.Len() != len(all) {
			t.Errorf("view %d with all that came since goes on in %s", i, next.Key())
		}
		history := append(v.view, pleat.Assistant(pleat.Say("Done.")), pleat.User("Again."))
		fork := openKey(t, st, s.Key(), o)
		did, err := fork.Sync(t.Context(), history)
		if must(t, err); !did.Forked || did.From != s.Key() || did.Shared != v.n || fork.Len() != v.n+2 {
			t.Errorf("view %d goes on in %s with %d messages, it was shown of %d", i, fork.Key(), fork.Len(), v.n)
		}
		if e := forks[len(forks)-1]; len(forks) != i+1 || e.From != s.Key() || e.Shared != v.n {
			t.Errorf("view %d: %d forks were told, the last of %s with %d messages", i, len(forks), e.From, e.Shared)
		}
		for _, f := range fork.Folds() {
			if _, err := fork.Unfold(t.Context(), pleat.UnfoldRequest{Handle: f.Handle}); err != nil {
				t.Fatal(err)
			}
		}
		if next := mustSync(t, fork, append(history, pleat.Assistant(pleat.Say("Yes.")))); next != fork {
			t.Errorf("the fork of view %d goes on in %s", i, next.Key())
		}
	}
}

// TestSyncTrimmed hands over the first question and the newest messages.
func TestSyncTrimmed(t *testing.T) {
	for _, first := range []int{1, 2} { // with and without the system message
		s := open(t, store.NewMemory(), nil)
		all := turns(30, 400)[2-first:]
		for n := first; n <= len(all); n += 2 {
			given := append(all[:first:first], all[max(first, n-10):n]...)
			if next := mustSync(t, s, given); next != s {
				t.Fatalf("message %d went on in %s", n, next.Key())
			}
		}
		if s.Len() != len(all) {
			t.Errorf("%d messages of %d", s.Len(), len(all))
		}
		if did, err := s.Sync(t.Context(), nil); err == nil || did.From != s.Key() {
			t.Errorf("an empty history goes on in %s", s.Key())
		}
		edited := append(all[:first+2:first+2], all[len(all)-4:]...) // answers in the middle are taken back
		if next := mustSync(t, s, edited); next == s || next.Len() != len(edited) {
			t.Errorf("messages taken out go on in %s", next.Key())
		}
	}
}

// TestSyncRepeatedCall: a call that is made again under another id, with another result, or one
// that is left out of the middle, forks where its round begins.
func TestSyncRepeatedCall(t *testing.T) {
	task := pleat.User("What time is it?")
	date := func(id, result string) []pleat.Message {
		return []pleat.Message{
			pleat.Assistant(pleat.Call(id, "shell", `{"command":"date"}`)), pleat.Results(pleat.Result(id, result)),
		}
	}
	history := func(rounds ...[]pleat.Message) []pleat.Message {
		return append([]pleat.Message{task}, slices.Concat(rounds...)...)
	}
	for name, c := range map[string]struct{ first, then []pleat.Message }{
		"again":    {history(date("a", "10:00")), history(date("b", "10:01"))},
		"left out": {history(date("a", "1"), date("b", "2"), date("c", "3")), history(date("a", "1"), date("c", "3"))},
	} {
		t.Run(name, func(t *testing.T) {
			st := store.NewMemory()
			s := mustSync(t, open(t, st, nil), c.first)
			fork := mustSync(t, s, c.then)
			if v := view(t, fork); fork == s || len(v) != len(c.then) || len(fork.Violations()) > 0 {
				t.Errorf("%s with %d messages: %v", fork.Key(), len(v), fork.Violations())
			}
			if next := mustSync(t, fork, append(c.then, pleat.Assistant(pleat.Say("Late.")))); next != fork {
				t.Errorf("it goes on in %s", next.Key())
			}
		})
	}
}

// TestSyncRepairedView: a program died after it had stored one of two results. The view that it
// repairs is still the session's, message by message.
func TestSyncRepairedView(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}})
	mustAppend(t, s, turns(30, 2_000)...)
	view(t, s)
	mustAppend(t, s,
		pleat.Assistant(pleat.Call("c1", "read", `{"p":1}`), pleat.Call("c2", "read", `{"p":2}`)),
		pleat.Results(pleat.Result("c1", "one")))
	if len(s.Folds()) == 0 {
		t.Fatal("nothing is folded")
	}
	n := s.Len()
	next := mustSync(t, s, append(transcript.Repair(view(t, s), nil), pleat.User("Go on.")))
	if next != s || s.Len() != n+2 {
		t.Errorf("it goes on in %s with %d messages, after %d in %s", next.Key(), next.Len(), n, s.Key())
	}
}

// TestSyncAnswerBehindPage takes the answer back that follows a page and says something else: the fork has what
// the page stands for.
func TestSyncAnswerBehindPage(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 4_000}, Tools: pleat.RecallTools()})
	s = mustSync(t, s, append(turns(8, 4_000), say("The bug is in the last one.")))
	n := s.Len()
	compact(t, s)
	shown := view(t, s)
	for len(shown) > 0 && shown[len(shown)-1].Role() == transcript.RoleAssistant {
		shown, n = shown[:len(shown)-1], n-1
	}
	s = mustSync(t, s, append(shown[:len(shown):len(shown)], pleat.User("No: fix the third.")))
	if s.Len() != n+1 || len(s.Folds()) == 0 {
		t.Fatalf("the fork has %d messages and %d folds, want %d and some", s.Len(), len(s.Folds()), n+1)
	}
	for _, f := range s.Folds() {
		if _, err := s.Unfold(t.Context(), pleat.UnfoldRequest{Handle: f.Handle}); err != nil {
			t.Error(err)
		}
	}
}

// renamed gives the calls in some messages other ids, and their results too.
func renamed(msgs []pleat.Message, ids map[string]string) (out []pleat.Message) {
	for _, m := range msgs {
		var blocks []transcript.Block
		for _, b := range m.Blocks().All() {
			switch was := b.(type) {
			case pleat.ToolCall:
				if id, ok := ids[was.ID]; ok {
					was.ID = id
				}
				b = was
			case pleat.ToolResult:
				if id, ok := ids[was.CallID]; ok {
					was.CallID = id
				}
				b = was
			}
			blocks = append(blocks, b)
		}
		out = append(out, transcript.NewMessage(m.Role(), blocks...))
	}
	return out
}

// TestSyncSlidKeptRenamed slides over a history whose first exchange is kept, and has other ids.
func TestSyncSlidKeptRenamed(t *testing.T) {
	head := []pleat.Message{pleat.User("Question"), poll("a"), polled("a"), say("Answer")}
	all := slices.Concat(head, turns(10, 40)[2:])
	s := mustSync(t, open(t, store.NewMemory(), nil), all[:len(all)-2])
	next := mustSync(t, s, slices.Concat(renamed(head, map[string]string{"a": "b"}), all[len(all)-6:]))
	if next != s || s.Len() != len(all) {
		t.Errorf("%s has %d messages of %d", next.Key(), next.Len(), len(all))
	}
}

// TestSyncSlidLeftOut: a call that says the same as another is no renamed one if it has its id. What
// was left out between it and the newest is not shown.
func TestSyncSlidLeftOut(t *testing.T) {
	all := []pleat.Message{pleat.User("Wait."), poll("1"), polled("1"), poll("2"), polled("2"), poll("3"), polled("3")}
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	given := slices.Concat(all[:3], all[5:], []pleat.Message{say("Done.")})
	if next := mustSync(t, s, given); next == s || allText(view(t, next)) != allText(given) {
		t.Errorf("%s shows %s", next.Key(), allText(view(t, next)))
	}
}

// TestSyncSlidView slides over a view that was stored back, with and without its page and its first
// question: the session goes on, and what the view says of handles holds.
func TestSyncSlidView(t *testing.T) {
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}
	more, slid := []pleat.Message{say("Done."), pleat.User("What was in f3.go?")}, 0
	for _, first := range []int{0, 1, 2} { // messages that are kept: none, the system message, the question
		for cut := 2; ; cut++ {
			s, history := storedBack(t, store.NewMemory(), o)
			if cut > len(history)-2 {
				break
			}
			n := s.Len() + len(more)
			next := mustSync(t, s, slices.Concat(history[:first], history[cut:], more))
			if next != s || s.Len() != n || len(s.Violations()) > 0 {
				t.Errorf("messages %d to %d are left out: %s has %d of %d", first, cut, next.Key(), next.Len(), n)
			}
			slid++
		}
	}
	if slid < 9 {
		t.Errorf("%d windows", slid)
	}
}

// TestSyncSlidViewRandom does so at every turn, under each policy.
func TestSyncSlidViewRandom(t *testing.T) {
	folded := 0
	for seed, p := range slices.Repeat(policy.All(), 3) {
		k := &talker{Rand: rand.New(rand.NewPCG(uint64(seed), 4)), all: []pleat.Message{pleat.User("Begin.")}}
		o := &pleat.Options{Budget: pleat.Budget{Window: 6_000}, Tools: pleat.RecallTools(), Policy: p}
		s := open(t, store.NewMemory(), o)
		history := k.all
		for step := range 60 {
			was := len(k.all)
			k.goOn()
			cut := k.IntN(max(1, len(history)-3))
			next := mustSync(t, s, slices.Concat(history[cut:], k.all[was:]))
			if next != s || !sameBlocks(t, s, k.all) {
				t.Fatalf("seed %d, step %d: the view from message %d of %d on goes on in %s",
					seed, step, cut, len(history), next.Key())
			}
			if history = view(t, s); len(history) < s.Len() {
				folded++
			}
		}
	}
	if folded < 100 {
		t.Errorf("%d views are folded", folded)
	}
}
