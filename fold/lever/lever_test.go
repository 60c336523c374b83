package lever_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// open opens a session whose policy pulls these levers at red, in a window of so many
// tokens.
func open(t *testing.T, window int, steps ...fold.Lever) *pleat.Session {
	t.Helper()
	return openWith(
		t,
		&pleat.Options{Policy: fold.Policy{Name: "test", AtRed: steps}, Budget: fold.Budget{Window: window}},
	)
}

func openWith(t *testing.T, o *pleat.Options) *pleat.Session {
	t.Helper()
	if o.Recall == nil {
		o.Recall = pleat.UnfoldCall
	}
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: t.Name()}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var say = pleattest.Append

// round is one call and its result. The text of result n says "result n".
func round(n int, tool, input string, lines int) []transcript.Message {
	id := fmt.Sprint("call_", n)
	return []transcript.Message{
		transcript.Assistant(transcript.Call(id, tool, input)),
		transcript.Results(transcript.Result(id, strings.Repeat(fmt.Sprintf("a line of result %d.\n", n), lines))),
	}
}

// reads appends rounds from ≤ n < to, each of which reads a file of its own of 100 lines.
func reads(t *testing.T, s *pleat.Session, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		say(t, s, round(n, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, n), 100)...)
	}
}

// started is a session in which somebody asked for something and n files were read.
func started(t *testing.T, n, window int, steps ...fold.Lever) *pleat.Session {
	t.Helper()
	s := open(t, window, steps...)
	say(t, s, transcript.User("Read all files. Never touch legacy/."))
	reads(t, s, 0, n)
	return s
}

// view is the text of what a model would be sent now, message by message.
func view(t *testing.T, s *pleat.Session) []string {
	t.Helper()
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := s.Resolve(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range msgs {
		var b strings.Builder
		for _, blk := range m.Blocks().All() {
			b.WriteString(transcript.BlockText(blk) + "\n")
		}
		out = append(out, b.String())
	}
	return out
}

// shown lists which of results 0 ≤ i < n the view has, as a string of their digits.
func shown(t *testing.T, s *pleat.Session, n int) string {
	t.Helper()
	all, out := strings.Join(view(t, s), "\n"), ""
	for i := range n {
		if strings.Contains(all, fmt.Sprintf("a line of result %d.\na line", i)) {
			out += fmt.Sprint(i)
		}
	}
	return out
}

// folds counts the folds that a plan made now would have, by lever.
func folds(t *testing.T, s *pleat.Session) map[string]int {
	t.Helper()
	p, err := s.Plan(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int)
	for _, f := range p.Folds {
		out[f.Lever]++
	}
	return out
}

func has(t *testing.T, s *pleat.Session, texts ...string) {
	t.Helper()
	all := strings.Join(view(t, s), "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("the view has no %q:\n%.2000s", text, all)
		}
	}
}

// refused checks that a policy with the lever is refused with an error that has the text.
func refused(t *testing.T, l fold.Lever, text string) {
	t.Helper()
	p := fold.Policy{Name: "test", AtRed: fold.Steps{l}}
	if _, ok := l.(fold.Birther); ok {
		p = fold.Policy{Name: "test", AtBirth: fold.Steps{l}}
	}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%+v: got error %v, want one with %q", l, err, text)
	}
}

func TestAll(t *testing.T) {
	seen := make(map[string]bool)
	for _, l := range lever.All() {
		if seen[l.Name()] {
			t.Errorf("two levers are called %q", l.Name())
		}
		seen[l.Name()] = true
	}
}
