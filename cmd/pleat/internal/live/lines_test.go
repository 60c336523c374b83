package live

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
)

// screenLog is what a terminal was sent.
type screenLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *screenLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *screenLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// What stood on the screen before the run stays: lines that come at once are not put above a
// frame as high as the screen.
func TestScreenBeforeStays(t *testing.T) {
	log := &screenLog{}
	u := newUI(strings.NewReader(""), log, func() {}, tea.WithWindowSize(60, 20))
	err := u.run(t.Context(), func(context.Context) error {
		_, err := io.WriteString(u, "hello\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "hello") || strings.Contains(text, "\x1b[19B") ||
		strings.Contains(text, "\x1b[20A") {
		t.Errorf("the terminal was sent %q", text)
	}
}

// What is typed at a terminal: Ctrl-C is not the end of input, after either the next line
// can be read, and the arrows bring back what was typed before.
func TestTypedLines(t *testing.T) {
	in, keys := io.Pipe()
	log := &screenLog{}
	u := newUI(in, log, func() {}, tea.WithWindowSize(60, 20))
	var got []string
	err := u.run(t.Context(), func(context.Context) error {
		for _, typed := range []string{
			"one\r", "half\x03", "two\\\rlines\r", "\x1b[200~three\nfour\x1b[201~\r", "\x04",
			strings.Repeat("\x1b[A", 5) + "\r", "a b c\x17d\x01e\r",
		} {
			reply := u.ask("› ", false)
			if _, err := io.WriteString(keys, typed); err != nil {
				return err
			}
			a := <-reply
			switch {
			case errors.Is(a.err, errInterrupted):
				a.text = "interrupted"
			case a.err != nil:
				a.text = a.err.Error()
			}
			got = append(got, a.text)
		}
		_, _ = io.WriteString(u, "the end\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "interrupted", "two\nlines", "three\nfour", "EOF", "one", "ea b d"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if text := log.String(); !strings.Contains(text, "the end") {
		t.Errorf("the terminal shows %q", text)
	}
}

// A terminal that ends before the work does not hold it up, and a panic in the work comes out
// when the terminal is as it was.
func TestTerminalEnds(t *testing.T) {
	in, _ := io.Pipe()
	u := newUI(in, &screenLog{}, func() {}, tea.WithWindowSize(60, 20))
	err := u.run(t.Context(), func(ctx context.Context) error {
		u.prog.Quit()
		<-ctx.Done()
		_, _ = io.WriteString(u, "nobody sees this\n")
		_, err := u.read(ctx, "› ", false)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "broken") {
			t.Errorf("the panic is %q", p)
		}
	}()
	u = newUI(in, &screenLog{}, func() {}, tea.WithWindowSize(60, 20))
	t.Error(u.run(t.Context(), func(context.Context) error { panic("broken") }))
}

// What was typed before a question for permission is no answer to it. It is there again
// afterwards, also if the question was taken back.
func TestDraft(t *testing.T) {
	m := &uiModel{ui: &ui{}, input: newInput()}
	typed := func(text string) {
		for _, c := range text {
			m.Update(tea.KeyPressMsg{Code: c, Text: string(c)})
		}
	}
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	reply := make(chan answer, 1)
	typed("a test")
	m.Update(question{"allow? ", reply, true})
	typed("n")
	m.Update(enter)
	m.Update(question{}) // too late
	if got := (<-reply).text; got != "n" {
		t.Errorf("the answer is %q", got)
	}
	m.Update(question{"allow? ", reply, true})
	typed("y")
	m.Update(question{})
	typed(" fails")
	m.Update(question{prompt: "› ", reply: reply})
	m.Update(enter)
	if got := (<-reply).text; got != "a test fails" {
		t.Errorf("what was typed before is %q now", got)
	}
	if want := []string{"a test fails"}; !slices.Equal(m.history, want) {
		t.Errorf("the history is %q", m.history)
	}
}

// The screen: text that comes in stands above the meter, words wrap at words, and lines that
// are done keep their indentation.
func TestScreenView(t *testing.T) {
	m := &uiModel{ui: &ui{}, input: newInput()}
	for _, msg := range []tea.Msg{
		drawnMsg{},
		tea.WindowSizeMsg{Width: 24, Height: 10},
		statusMsg{partial: "some words that are coming in now", meter: "context ███ 30 %"},
		question{prompt: "› ", reply: make(chan answer, 1)},
		tea.KeyPressMsg{Code: 'h', Text: "h"},
		tea.KeyPressMsg{Code: 'i', Text: "i"},
	} {
		m.Update(msg)
	}
	lines := strings.Split(m.View().Content, "\n")
	for i, want := range []string{"some words that are", "coming in now", "context ███ 30 %", "› hi"} {
		if i >= len(lines) || strings.TrimSpace(ansi.Strip(lines[i])) != want {
			t.Errorf("line %d of %q is not %q", i, lines, want)
		}
	}
	m.Update(overMsg{})
	if m.View().Content != "" {
		t.Errorf("at the end %q is left", m.View().Content)
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
			r.ui, want = &ui{}, []string{"Head", "• bold and code", "```go", "# x := 1", "```", "Done"}
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
