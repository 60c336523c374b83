package pleat_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

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
