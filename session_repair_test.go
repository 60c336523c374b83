package pleat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// TestRepair opens a session whose process died while tools ran.
func TestRepair(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, nil)
	mustAppend(t, s,
		pleat.User("Look."), pleat.Results(pleat.Result("nobody", "asked")), pleat.Assistant(),
		pleat.Assistant(pleat.Say("")), pleat.Assistant(pleat.Call("a", "ls", `{}`), pleat.Call("b", "rm", `{}`)),
		pleat.Results(pleat.Result("a", "x.go")))
	s = open(t, st, nil)
	want := []string{"tool-result-orphan messages.1", "empty-message messages.2", "empty-message messages.3"}
	difftest.Equal(t, append(want, "tool-result-missing messages.4"), rules(s))
	if n, err := s.Repair(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("%d calls repaired: %v", n, err)
	}
	if n, err := s.Repair(t.Context(), nil); n != 0 || err != nil {
		t.Errorf("%d calls repaired again: %v", n, err)
	}
	difftest.Equal(t, want, rules(s))
	msgs := view(t, s)
	r, _ := msgs[len(msgs)-1].Blocks().At(0).(pleat.ToolResult)
	if r.CallID != "b" || !r.Error || !strings.Contains(r.Text(), "rm") {
		t.Errorf("the call is told to have ended so: %+v", r)
	}
}

// TestAnswerFirst begins a conversation with an answer, which Anthropic takes only from its own compaction.
func TestAnswerFirst(t *testing.T) {
	for _, tt := range []struct {
		first pleat.Block
		want  []string
	}{
		{pleat.Say("Hello."), []string{"first-role messages.1"}},
		{transcript.Opaque{Type: "compaction", Raw: `{"type":"compaction","content":"x"}`}, nil},
	} {
		s := open(t, store.NewMemory(), nil)
		mustAppend(t, s, transcript.NewMessage(transcript.RoleSystem, pleat.Say("Be brief.")),
			pleat.Assistant(tt.first), pleat.User("Hi."))
		difftest.Equal(t, tt.want, rules(s))
	}
}

// TestOneIDTwice appends calls that no result can tell apart, and some that are far enough from each other.
func TestOneIDTwice(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	a, b := pleat.Call("a", "ls", `{}`), pleat.Call("b", "ls", `{}`)
	mustAppend(t, s,
		pleat.User("Look."), pleat.Assistant(a, b), pleat.Results(pleat.Result("a", "x"), pleat.Result("b", "x")),
		pleat.Assistant(a, b, a),
		pleat.Results(pleat.Result("a", "x"), pleat.Result("b", "x"), pleat.Result("a", "x")))
	difftest.Equal(t, []string{"tool-use-id-duplicate messages.3"}, rules(s))
}

// TestLateResults appends results behind what was said meanwhile. They are shown behind their calls, and
// the session goes on with what it showed.
func TestLateResults(t *testing.T) {
	call := pleat.Assistant(pleat.Call("a", "ls", `{}`), pleat.Call("b", "ls", `{}`))
	a, b := pleat.Results(pleat.Result("a", "x")), pleat.Results(pleat.Result("b", "x"))
	said, answered := pleat.User("Wait."), pleat.Assistant(pleat.Say("I wait."))
	beside := transcript.NewMessage(transcript.RoleUser, pleat.Result("a", "x"), pleat.Say("Still."))
	for _, tt := range []struct {
		name string
		then []pleat.Message
		want string
	}{
		{"one by one", []pleat.Message{a, b, said}, "Look. (a b) =a =b Wait."},
		{"behind the rest of the answer", []pleat.Message{answered, b, a}, "Look. (a b) I wait. =b =a"},
		{"the user spoke", []pleat.Message{said, a, b}, "Look. (a b) =a =b Wait."},
		{"with more words", []pleat.Message{said, beside, b}, "Look. (a b) =a =b Wait. Still."},
		{"the model answered", []pleat.Message{a, said, answered, b}, "Look. (a b) =a =b Wait. I wait."},
	} {
		s := open(t, store.NewMemory(), nil)
		mustAppend(t, s, append([]pleat.Message{pleat.User("Look."), call}, tt.then...)...)
		msgs := messages(t, s)
		if got := order(msgs); got != tt.want || len(s.Violations()) > 0 {
			t.Errorf("%s: %s, not %s: %v", tt.name, got, tt.want, s.Violations())
		}
		if tt.name != "the model answered" && mustSync(t, s, append(msgs, answered)) != s {
			t.Errorf("%s: the view, handed back, is another conversation", tt.name)
		}
	}
}

// TestResultsOfNothing appends results that came twice, or answer no call. All wires take what is shown of them.
func TestResultsOfNothing(t *testing.T) {
	a, said := pleat.Results(pleat.Result("a", "x")), pleat.Assistant(pleat.Say("Done."))
	both := transcript.NewMessage(transcript.RoleTool, pleat.Result("a", "x"), pleat.Result("b", "x"))
	for _, tt := range []struct {
		then []pleat.Message
		want string
	}{
		{[]pleat.Message{a, a, said}, "Look. (a) =a Done."},
		{[]pleat.Message{a, said, a}, "Look. (a) =a Done."},
		{[]pleat.Message{both, said}, "Look. (a) =a [a result that no call waits for]\n x Done."},
		{
			[]pleat.Message{a, said, pleat.Results(pleat.Result("a", "y"))},
			"Look. (a) =a Done. [a result that no call waits for]\n y",
		},
	} {
		s := open(t, store.NewMemory(), nil)
		mustAppend(t, s, pleat.User("Look."), pleat.Assistant(pleat.Call("a", "ls", `{}`)))
		mustAppend(t, s, tt.then...)
		if got := order(messages(t, s)); got != tt.want {
			t.Errorf("%q, not %q", got, tt.want)
		}
		r := &model.Request{Model: "m", MaxTokens: 1, Messages: messages(t, s)}
		for _, encode := range []func(*model.Request) ([]byte, error){
			anthropic.Encode, gemini.Encode, openai.EncodeChat, openai.EncodeResponses,
		} {
			if _, err := encode(r); err != nil {
				t.Error(err)
			}
		}
	}
}

// order tells words, calls and results in one line.
func order(msgs []pleat.Message) string {
	var out []string
	for _, m := range msgs {
		var calls []string
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case pleat.ToolCall:
				calls = append(calls, b.ID)
			case pleat.ToolResult:
				out = append(out, "="+b.CallID)
			default:
				out = append(out, transcript.NewMessage(m.Role(), b).Text())
			}
		}
		if len(calls) > 0 {
			out = append(out, "("+strings.Join(calls, " ")+")")
		}
	}
	return strings.Join(out, " ")
}

// TestRepairBehindWords: what was typed while the tools ran does not keep their calls from being answered.
func TestRepairBehindWords(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, pleat.User("Look."), pleat.Assistant(pleat.Call("a", "ls", `{}`)), pleat.User("Wait."))
	if n, err := s.Repair(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("%d calls repaired: %v", n, err)
	}
	msgs, err := s.Messages(t.Context())
	if got, want := order(msgs), "Look. (a) =a Wait."; got != want || err != nil {
		t.Errorf("%s, not %s (%v)", got, want, err)
	}
}

func rules(s *pleat.Session) []string {
	var out []string
	for _, v := range s.Violations() {
		out = append(out, v.Rule+" "+v.Path)
	}
	return out
}

// TestRepairAsks: what Repair asks for a text may ask the session.
func TestRepairAsks(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, pleat.User("Go."), pleat.Assistant(pleat.Call("a", "bash", `{"command":"make deploy"}`)))
	n, err := s.Repair(t.Context(), func(pleat.ToolCall) string {
		return fmt.Sprintf("Lost, with %d calls in all.", len(s.Ledger(pleat.LedgerFilter{})))
	})
	if got := allText(view(t, s)); n != 1 || err != nil || !strings.Contains(got, "Lost, with 1 calls in all.") {
		t.Errorf("repaired %d, %v:\n%s", n, err, got)
	}
}

// TestRepairPanics: a panic on the way to the store leaves the session usable.
func TestRepairPanics(t *testing.T) {
	wrong := false
	s := open(t, store.NewMemory(), &pleat.Options{Now: func() time.Time {
		if wrong {
			panic("no clock")
		}
		return time.Time{}
	}})
	mustAppend(t, s, pleat.User("Go."), pleat.Assistant(pleat.Call("a", "bash", `{}`)))
	wrong = true
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Repair(t.Context(), nil)
	}()
	wrong = false
	if n, err := s.Repair(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("repaired %d, %v", n, err)
	}
}
