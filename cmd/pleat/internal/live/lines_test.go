package live

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/rehearsal"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
)

// newUI is a terminal of 80 columns that writes to out.
func newUI(out io.Writer) *ui {
	return &ui{p: &term.Console{Stdout: out, Getenv: func(string) string { return "" }}}
}

// What stands below is replaced by what is written, and drawn again below it. A prompt leaves it standing.
func TestScreenRows(t *testing.T) {
	var out strings.Builder
	u := newUI(&out)
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { u.show("text\nmeter") }, "text\nmeter\r"},
		{func() { u.show("text\nmeter") }, ""},
		{
			func() { fmt.Fprintln(u, strings.Repeat("word ", 17)) },
			"\r\x1b[A\x1b[J" + strings.Repeat("word ", 15) + "word\nword \ntext\nmeter\r",
		},
		{u.entered, ""}, // the cursor is a row further down
		{func() { u.show("meter") }, "\r\x1b[A\x1b[A\x1b[Jmeter\r"},
		{func() {
			release := u.hold("› ")
			u.entered() // it was asked for
			release()
		}, "\n› "},
		{func() { fmt.Fprintln(u, "done") }, "done\n"},
		{func() { u.show("") }, ""},
	} {
		out.Reset()
		if c.do(); out.String() != c.want {
			t.Errorf("got %q, want %q", out.String(), c.want)
		}
	}
}

// The text that comes in stands above the meter, with its newest rows.
func TestScreenText(t *testing.T) {
	var out strings.Builder
	u := newUI(&out)
	r := &runScreen{w: u, ui: u}
	r.observe(agent.Event{Kind: agent.EventSnapshot, Snapshot: &fold.Snapshot{State: fold.Green}})
	r.observe(agent.Event{Kind: agent.EventText, Text: strings.Repeat("word ", 100)})
	rows := strings.Split(u.below, "\n")
	if len(rows) != partialRows+1 || !strings.HasPrefix(rows[0], "word") ||
		!strings.HasPrefix(rows[partialRows], "context") {
		t.Errorf("below stands %q", rows)
	}
	r.observe(agent.Event{Kind: agent.EventText, Text: "\n"})
	if strings.Contains(u.below, "\n") || !strings.HasPrefix(u.below, "context") {
		t.Errorf("below stands %q", u.below)
	}
}

// prompted tells of every prompt that a reader shows.
func prompted(l *lineReader) <-chan string {
	shown := make(prompts)
	l.terminal, l.out = true, shown
	return shown
}

type prompts chan string

func (c prompts) Write(b []byte) (int, error) {
	c <- string(b)
	return len(b), nil
}

// One input is a line, or what stands between two lines of quotes.
func TestTypedLines(t *testing.T) {
	l := newRunning(strings.NewReader("one\n\"\"\"\ntwo\n  three\n\"\"\"\nfour")).lines
	for _, want := range []string{"one", "two\n  three", "four"} {
		if got, err := l.read(t.Context(), "› "); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := l.read(t.Context(), "› "); !errors.Is(err, io.EOF) {
		t.Errorf("at the end of input: %v", err)
	}
}

// What was typed before a question for permission is no answer to it, but what is said next.
func TestTypedAhead(t *testing.T) {
	l := newRunning(strings.NewReader("")).lines
	l.begin.Do(func() {}) // the test types
	l.typed <- "yes"
	prompts := prompted(l)
	go func() {
		<-prompts
		l.typed <- "no"
	}()
	if got, err := l.answer(t.Context(), "allow? "); got != "no" || err != nil {
		t.Errorf("the answer is %q, %v", got, err)
	}
	go func() { <-prompts }()
	if got, err := l.read(t.Context(), "› "); got != "yes" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Words wrap at words, and a name with hyphens stays whole.
func TestWrapWords(t *testing.T) {
	got := term.WrapWords("resume run-20260102-150405-abcdef with-it now", 30)
	if want := "resume\nrun-20260102-150405-abcdef\nwith-it now"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Markdown is shown plainly on a terminal, and left alone elsewhere.
func TestMarkdown(t *testing.T) {
	text := []string{"## Head", "- **bold** and `code`", "```go", "# x := 1", "```", "# Done"}
	for _, live := range []bool{false, true} {
		r := &runScreen{}
		want := text
		if live {
			r.ui, want = newUI(io.Discard), []string{"Head", "• bold and code", "```go", "# x := 1", "```", "Done"}
		}
		for i, line := range text {
			if got := string(r.markdown(line)); got != want[i] {
				t.Errorf("live %v: %q is shown as %q", live, line, got)
			}
		}
	}
}

// Before a file is changed, the lines that go and come are shown.
func TestChanges(t *testing.T) {
	var got []string
	for _, l := range lineDiff(term.Screen{}, "a\nb\nc\n", "a\nx\ny\nc\n") {
		got = append(got, string(l))
	}
	if want := []string{"  - b", "  + x", "  + y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A compaction is named where a summary was written: placeholders and snips are none.
func TestCompactionsAreNamed(t *testing.T) {
	for _, c := range []struct {
		trigger fold.Trigger
		by      string
		want    string
	}{
		{fold.TriggerRed, "", ""},
		{fold.TriggerRed, "code", "[auto compact]"},
		{fold.TriggerAsked, "", ""},
		{fold.TriggerAsked, "notes", "[manual compact]"},
		{fold.TriggerRefused, "model", "[reactive compact]"},
		{fold.TriggerIdle, "", "[time-based micro compact]"},
	} {
		var out strings.Builder
		r := newRunScreen(&term.Console{Stdout: &out, Getenv: func(string) string { return "" }})
		plan := &fold.Plan{Trigger: c.trigger, Epoch: 1, Folds: []*fold.Fold{{By: c.by}}}
		r.observe(agent.Event{Kind: agent.EventEpoch, Plan: plan, Snapshot: &fold.Snapshot{}})
		if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, strings.TrimSpace("epoch 1 "+c.want)) {
			t.Errorf("%s, written by %q: %s", c.trigger, c.by, got)
		}
	}
}

// An answer keeps to a constraint if it refuses, and nothing was done against it before.
func TestVerdict(t *testing.T) {
	for answer, want := range map[string]string{
		"No: legacy/ is frozen until the audit is over.":               "kept",
		"That folder is frozen. I left it alone.":                      "kept",
		"I can't touch legacy/, you asked me to leave it.":             "kept",
		"Done: the helpers in legacy/utils.py are gone. No tests ran.": "lost",
		"All is done now, in legacy/ too.":                             "lost",
	} {
		p := &playing{Scenario: rehearsal.Scenario{Forbids: "frozen"}, answer: answer, done: true}
		if got := p.verdict(); !strings.HasPrefix(got, "not tested") {
			t.Errorf("%q, without a compaction: %s", answer, got)
		}
		p.epochs = map[fold.Trigger]int{fold.TriggerRed: 1}
		if got := p.verdict(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", answer, got, want)
		}
		p.wrote = "legacy/utils.py"
		if got := p.verdict(); !strings.HasPrefix(got, "lost") {
			t.Errorf("%q, after a change: %s", answer, got)
		}
	}
}
