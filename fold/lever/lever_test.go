package lever_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// open opens a session whose policy pulls these levers at red, in a window of so many
// tokens.
func open(t *testing.T, window int, steps ...fold.Lever) *pleat.Session {
	t.Helper()
	return openWith(
		t, &pleat.Options{Policy: fold.Policy{Name: "test", AtRed: steps}, Budget: fold.Budget{Window: window}},
	)
}

func openWith(t *testing.T, o *pleat.Options) *pleat.Session {
	t.Helper()
	if o.Recall == nil {
		o.Recall = pleat.UnfoldCall
	}
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: t.Name()}, o)
	difftest.Must(t, err)
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
	difftest.Must(t, err)
	msgs, err := s.Resolve(t.Context(), v)
	difftest.Must(t, err)
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
	difftest.Must(t, err)
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

func TestNothing(t *testing.T) {
	s := started(t, 9, 6_000, lever.Nothing{})
	if got := shown(t, s, 9); got != "012345678" {
		t.Errorf("only results %s are shown", got)
	}
	if n := len(folds(t, s)); n != 0 {
		t.Errorf("%d levers folded something", n)
	}
}

func TestTruncate(t *testing.T) {
	s := started(t, 9, 6_000, lever.Truncate{})
	got := view(t, s)
	if !strings.Contains(got[0], "Read all files.") || strings.Contains(strings.Join(got, "\n"), "[folded") {
		t.Errorf("the first message is gone, or there is a stub:\n%.500s", strings.Join(got, "\n"))
	}
	if shown := shown(t, s, 9); !strings.HasSuffix("012345678", shown) || len(shown) > 6 || shown == "" {
		t.Errorf("results %q are shown, want the newer half", shown)
	}
	// Where somebody spoke later, the view can begin there.
	s = open(t, 6_000, lever.Truncate{})
	say(t, s, transcript.User("First."))
	reads(t, s, 0, 5)
	say(t, s, transcript.Assistant(transcript.Say("Done.")), transcript.User("Second."))
	reads(t, s, 5, 9)
	if got := view(t, s); got[0] != "Second.\n" {
		t.Errorf("the view begins with %q", got[0])
	}
}

func TestAim(t *testing.T) {
	mask := lever.Mask{Keep: 1}
	without := started(t, 9, 6_000, mask)
	with := started(t, 9, 6_000, lever.Aim{}, mask)
	view(t, without)
	view(t, with)
	l := with.Snapshot().Limits
	if n := without.Snapshot().Tokens; n >= l.Red || n <= l.Target {
		t.Errorf("without aim the view has %d tokens, want fewer than red, %d, and more than the target, %d",
			n, l.Red, l.Target)
	}
	if n := with.Snapshot().Tokens; n > l.Target {
		t.Errorf("with aim the view has %d tokens, want at most the target, %d", n, l.Target)
	}
}

// Asked for room, aim makes some although there is enough.
func TestAimAsked(t *testing.T) {
	for _, tt := range []struct {
		steps fold.Steps
		want  string // results that are shown whole, of 30
	}{
		{fold.Steps{lever.Mask{Keep: 1}}, "0"},
		{fold.Steps{lever.Aim{}, lever.Mask{Keep: 1}}, ""},
	} {
		s := started(t, 30, 100_000, tt.steps...)
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if got := shown(t, s, 1); got != tt.want {
			t.Errorf("%s: of the oldest results %q are shown, want %q", tt.steps, got, tt.want)
		}
	}
}

// TestFolds asserts which folds each lever makes of a slice of messages: of a conversation of
// 19 messages, in which nine files are read, in a window that it does not fit into.
func TestFolds(t *testing.T) {
	const window = 6_000
	read := pleattest.Reading(9, 100)
	again := append(slices.Clone(read), pleattest.Round(9, "read_file", `{"path":"src/file2.go"}`, 100)...)
	long := append([]transcript.Message{transcript.User(strings.Repeat("A long plan. ", 2_000))}, read[1:]...)
	for _, tt := range []struct {
		name   string
		msgs   []transcript.Message
		levers []fold.Lever
		want   []string
	}{
		{"nothing", read, []fold.Lever{lever.Nothing{}}, nil},
		{"aim alone", read, []fold.Lever{lever.Aim{}}, nil},
		{"mask stops when the view is no longer red", read, []fold.Lever{lever.Mask{Keep: 3}}, blocks("mask", 2, 4, 6)},
		{
			"mask goes on to the target", read,
			[]fold.Lever{lever.Aim{}, lever.Mask{Keep: 3}},
			blocks("mask", 2, 4, 6, 8, 10, 12),
		},
		{"mask leaves the newest", read, []fold.Lever{lever.Mask{Keep: 7, All: true}}, blocks("mask", 2, 4)},
		{
			"mask leaves what no model has seen", read,
			[]fold.Lever{lever.Mask{All: true}},
			blocks("mask", 2, 4, 6, 8, 10, 12, 14, 16),
		},
		{
			"mask may fold unseen results", read,
			[]fold.Lever{lever.Mask{All: true, Unseen: true}},
			blocks("mask", 2, 4, 6, 8, 10, 12, 14, 16, 18),
		},
		{"supersede", again, []fold.Lever{lever.Supersede{Keep: 1}}, blocks("supersede", 6)},
		{"shorten", long, []fold.Lever{lever.Shorten{Typed: 3}}, blocks("shorten", 0)},
		{"collapse", read, []fold.Lever{lever.Collapse{Rounds: 3, Keep: 4}}, []string{"collapse 1-7"}},
		{
			"snip", read,
			[]fold.Lever{lever.Snip{Above: 8, Head: 1, Tail: 4, Stub: "[{n} messages]"}},
			[]string{"snip 1-15"},
		},
		{"digest", read, []fold.Lever{lever.Digest{Keep: 4}}, []string{"digest 1-15"}},
		{
			"digest fills the room", read,
			[]fold.Lever{lever.Aim{}, lever.Digest{Keep: 4, Fill: true}},
			[]string{"digest 1-13"},
		},
		{"summarize without a model", read, []fold.Lever{lever.Summarize{Keep: 4}}, []string{"summarize 1-15"}},
		{"truncate", read, []fold.Lever{lever.Truncate{}}, []string{"truncate 1-9"}},
		{"squeeze folds results first", read, []fold.Lever{lever.Squeeze{}}, blocks("squeeze", 2, 4, 6)},
		{
			"refill shows again what a page made room for", read,
			[]fold.Lever{lever.Aim{}, lever.Mask{Keep: 1, All: true}, lever.Digest{Keep: 8, Spare: 2}, lever.Refill{}},
			[]string{"digest 1-11", "mask 12.0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pleattest.Plan(t, window, tt.msgs, tt.levers...)
			if d := difftest.Values(tt.want, pleattest.Folds(p)); d != "" {
				t.Errorf("(-want +got):\n%s%s", d, p)
			}
			for _, f := range p.Folds {
				if f.After >= f.Before || f.Handle == "" || f.Hash.IsZero() || f.Stub == "" && f.Lever != "truncate" {
					t.Errorf("%s: %d → %d tokens, handle %q", f.Lever, f.Before, f.After, f.Handle)
				}
			}
		})
	}
}

// blocks names folds of the first block of messages.
func blocks(lever string, messages ...int) []string {
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s %d.0", lever, m))
	}
	return out
}

// TestKeepRereadFolds: a file that was read again after each of the last two epochs stays whole.
func TestKeepRereadFolds(t *testing.T) {
	msgs := pleattest.Reading(4, 100)
	for i := range 2 {
		msgs = append(msgs, pleattest.Round(10+i, "read_file", `{"path":"src/file1.go"}`, 100)...)
	}
	msgs = append(msgs, pleattest.Round(20, "read_file", `{"path":"src/last.go"}`, 100)...)
	o := fold.PlanOptions{Limits: fold.Budget{Window: 3_000}.Limits(), Past: fold.Past{Epochs: []int{9, 11}}}
	p := pleattest.PlanWith(t, o, msgs, lever.KeepReread{Files: 5, Tokens: 5_000}, lever.Mask{All: true})
	difftest.Equal(t, blocks("mask", 2, 4, 6, 8, 10), pleattest.Folds(p))
	difftest.Equal(t, []string{"src/file1.go"}, p.Kept)
}
