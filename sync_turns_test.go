package pleat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func say(text string) pleat.Message { return pleat.Assistant(pleat.Say(text)) }

// TestSyncKeptHead hands over the first exchange and the newest messages.
func TestSyncKeptHead(t *testing.T) {
	all := []pleat.Message{system("Be brief."), pleat.User("Question 0"), poll("a"), polled("a"), say("Answer 0")}
	head := len(all)
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	for i := 1; i < 12; i++ {
		all = append(all, pleat.User(fmt.Sprint("Question ", i)), say(fmt.Sprint("Answer ", i)))
		given := append(all[:head:head], all[max(head, len(all)-4):]...)
		if next := mustSync(t, s, given); next != s {
			t.Fatalf("answer %d goes on in %s", i, next.Key())
		}
	}
	if got := allText(view(t, s)); got != allText(all) {
		t.Error(got)
	}
	if next := mustSync(t, s, append(all[:head:head], pleat.User("Question 11"), say("Another answer"))); next == s {
		t.Error("an edit behind the gap goes on in the session")
	}
}

// TestSyncRejoined hands over the results of one answer in another order, in other messages, and
// with more of them than the session has.
func TestSyncRejoined(t *testing.T) {
	r := pleat.Result
	calls := pleat.Assistant(pleat.Call("a", "ls", `{}`), pleat.Call("b", "ls", `{}`), pleat.Call("c", "pwd", `{}`))
	begin := []pleat.Message{pleat.User("Look."), calls}
	more := transcript.NewMessage(transcript.RoleUser, r("a", "1"), r("b", "2"), r("c", "3"), pleat.Say("Go on."))
	forms := [][]pleat.Message{
		{pleat.Results(r("a", "1"), r("b", "2"), r("c", "3"))},
		{pleat.Results(r("c", "3"), r("a", "1"), r("b", "2"))},
		{pleat.Results(r("a", "1")), pleat.Results(r("b", "2")), pleat.Results(r("c", "3"))},
		{pleat.Results(r("b", "2")), pleat.Results(r("c", "3"), r("a", "1"))},
		{pleat.Results(r("a", "1"), r("b", "2"), r("c", "3")), pleat.User("Go on.")},
		{more},
	}
	for i, was := range append(forms, forms[2][:1], forms[3][:1]) {
		for k, is := range forms {
			s := mustSync(t, open(t, store.NewMemory(), nil), slices.Concat(begin, was))
			end := []pleat.Message{say("Done."), pleat.User("Thanks.")}
			if i > 3 && i < 6 && k <= 3 {
				is = append(is[:len(is):len(is)], pleat.User("Go on."))
			}
			for n := range len(end) + 1 {
				if next := mustSync(t, s, slices.Concat(begin, is, end[:n])); next != s || len(s.Violations()) > 0 {
					t.Fatalf("form %d after %d goes on in %s: %v", k, i, next.Key(), s.Violations())
				}
			}
			for c := range 3 {
				id := string(rune('a' + c))
				if got := resultOf(view(t, s), id); got != fmt.Sprint(c+1) {
					t.Errorf("form %d after %d: result %s is %q", k, i, id, got)
				}
			}
			edited := pleat.Results(r("a", "1"), r("b", "2"), r("c", "4"))
			if next := mustSync(t, s, slices.Concat(begin, []pleat.Message{edited}, end)); next == s {
				t.Errorf("form %d after %d: another result is taken for the same", k, i)
			}
		}
	}
}

// resultOf returns the text of the one result that a call has; otherwise what is wrong.
func resultOf(msgs []pleat.Message, id string) string {
	var found []string
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(pleat.ToolResult); ok && r.CallID == id {
				found = append(found, r.Text())
			}
		}
	}
	if len(found) != 1 {
		return fmt.Sprint(len(found), " results")
	}
	return found[0]
}

// talker makes up a conversation and hands it over as programs do: trimmed, slid, put together
// otherwise, or as the session showed it.
type talker struct {
	*rand.Rand
	all []pleat.Message
	ids int
}

// goOn says something more, up to a result or a question.
func (k *talker) goOn() {
	if k.IntN(3) == 0 {
		k.all = append(k.all, say(fmt.Sprint("Answer ", len(k.all))),
			pleat.User([]string{"Go on.", fmt.Sprint(len(k.all))}[k.IntN(2)]))
		return
	}
	var calls []transcript.Block
	var results []pleat.Message
	for range 1 + k.IntN(4) {
		k.ids++
		id := fmt.Sprint("call_", k.ids)
		calls = append(calls, pleat.Call(id, "status", `{}`))
		results = append(results,
			pleat.Results(pleat.Result(id, []string{"pending", strings.Repeat("another line of it\n", 50)}[k.IntN(2)])))
	}
	k.all = append(append(k.all, pleat.Assistant(calls...)), results...)
}

// trimmed returns what is left of the history if at least the newest n messages stay.
func (k *talker) trimmed(n int) []pleat.Message {
	from := max(len(k.all)-n-k.IntN(6), 0)
	head := 0
	switch k.IntN(4) {
	case 0:
		from = 0
	case 1:
		head = 1
	case 2: // the first exchange, if it ended in words
		head = 1 + slices.IndexFunc(k.all, func(m pleat.Message) bool {
			return m.Role() == transcript.RoleAssistant && !m.Blocks().Has(transcript.KindToolCall)
		})
	}
	return slices.Concat(k.all[:min(head, from)], k.all[from:])
}

// rejoined puts results that follow one another in another order and in other messages.
func (k *talker) rejoined(history []pleat.Message) (out []pleat.Message) {
	for i := 0; i < len(history); {
		var run []pleat.ToolResult
		for ; i < len(history) && history[i].Role() == transcript.RoleTool; i++ {
			for _, b := range history[i].Blocks().All() {
				run = append(run, b.(pleat.ToolResult))
			}
		}
		k.Shuffle(len(run), func(a, b int) { run[a], run[b] = run[b], run[a] })
		for len(run) > 0 {
			n := 1 + k.IntN(len(run))
			out, run = append(out, pleat.Results(run[:n]...)), run[n:]
		}
		if i < len(history) {
			out, i = append(out, history[i]), i+1
		}
	}
	return out
}

// TestSyncRandom hands over a conversation in many ways: none of them may fork, and the session
// must have all of it. With an edit they must fork.
func TestSyncRandom(t *testing.T) {
	for seed := range uint64(60) {
		k := &talker{Rand: rand.New(rand.NewPCG(seed, 1)), all: []pleat.Message{pleat.User("Go on.")}}
		st := store.NewMemory()
		o := &pleat.Options{Budget: pleat.Budget{Window: 6_000}}
		s := mustSync(t, open(t, st, o), k.all)
		for step := range 40 {
			was := len(k.all)
			var shown []pleat.Message
			if step%5 == 4 {
				shown = view(t, s)
			}
			k.goOn()
			history := k.trimmed(len(k.all) - was + 2)
			switch {
			case shown != nil && k.IntN(2) == 0:
				history = slices.Concat(shown, k.all[was:])
			}
			if k.IntN(2) == 0 {
				history = k.rejoined(history)
			}
			next := mustSync(t, s, history)
			if next != s || !sameBlocks(t, s, k.all) {
				t.Fatalf("seed %d, step %d: %d of %d messages went on in %s, which has %d",
					seed, step, len(history), len(k.all), next.Key(), next.Len())
			}
			if k.IntN(8) == 0 {
				s = open(t, st, o)
			}
		}
		for range 8 {
			history := k.trimmed(8)
			i := len(history) - 1 - k.IntN(6)
			history[i] = pleat.User("No, otherwise.")
			next := mustSync(t, s, history)
			// What nobody has answered is taken back.
			back := i == len(history)-1 && k.all[len(k.all)-1].Role() == transcript.RoleUser
			if next == s && !back || next.Len() > len(k.all) {
				t.Errorf("seed %d: an edit of message %d of %d goes on in %s", seed, i, len(history), next.Key())
			}
			whole := slices.Concat(k.all[:len(k.all)-len(history)+i], history[i:])
			if !sameBlocks(t, next, whole) && !sameBlocks(t, next, history) {
				t.Errorf("seed %d: an edit of message %d of %d: %d messages", seed, i, len(history), next.Len())
			}
			s = mustSync(t, open(t, store.NewMemory(), o), k.all)
		}
	}
}

// sameBlocks reports whether the session has these messages, whatever their borders and the order
// of results.
func sameBlocks(t *testing.T, s *pleat.Session, want []pleat.Message) bool {
	t.Helper()
	got, err := s.Resolve(t.Context(), transcript.Whole(s.Len()))
	must(t, err)
	return slices.Equal(blockLines(got), blockLines(want))
}

func blockLines(msgs []pleat.Message) (lines []string) {
	answers := 0
	for _, m := range msgs {
		if m.Role() == transcript.RoleAssistant {
			answers++
		}
		for _, b := range m.Blocks().All() {
			id := ""
			if r, ok := b.(pleat.ToolResult); ok {
				id = r.CallID
			}
			lines = append(lines,
				fmt.Sprintf("%06d %s %s %s %s", answers, m.Role(), b.Kind(), id, transcript.BlockText(b)))
		}
	}
	slices.Sort(lines)
	return lines
}

// hasBlocks reports whether messages have all blocks of others, behind as many answers.
func hasBlocks(msgs, of []pleat.Message) bool {
	lines := blockLines(msgs)
	return !slices.ContainsFunc(blockLines(of), func(line string) bool { return !slices.Contains(lines, line) })
}

// TestSyncEmptyText: a text without words beside a call, which not every program keeps, is no other way.
func TestSyncEmptyText(t *testing.T) {
	call, empty := pleat.Call("a", "ls", `{}`), pleat.Say("")
	end := []pleat.Message{pleat.Results(pleat.Result("a", "x")), pleat.Assistant(pleat.Say("Done."))}
	for _, answers := range [][2]pleat.Message{
		{pleat.Assistant(call), pleat.Assistant(empty, call)}, {pleat.Assistant(empty, call), pleat.Assistant(call)},
	} {
		s := open(t, store.NewMemory(), nil)
		mustSync(t, s, []pleat.Message{pleat.User("Go."), answers[0]})
		for k := range end {
			history := append([]pleat.Message{pleat.User("Go."), answers[1]}, end[:k+1]...)
			if next := mustSync(t, s, history); next != s || s.Len() != k+3 {
				t.Errorf("it goes on in %s with %d messages", next.Key(), s.Len())
			}
		}
	}
}
