package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// ui is the terminal of a run. What was said scrolls up, and below it stay the text that is
// coming in, the meter of the window, and what is being typed. As a writer it adds lines
// above them.
type ui struct {
	prog      *tea.Program
	interrupt func() // stops what is going on
	out       *os.File
	width     atomic.Int64
	drawn     chan struct{} // closed when the first frame is on the terminal

	mu   sync.Mutex
	rest string // of a line that has not ended
}

// newUI makes the terminal. interrupt is called for Ctrl-C while nothing is asked.
func newUI(in io.Reader, out io.Writer, interrupt func(), opts ...tea.ProgramOption) *ui {
	u := &ui{interrupt: interrupt, drawn: make(chan struct{})}
	watch := frameWatch{out, sync.OnceFunc(func() { close(u.drawn) })}
	if file, ok := out.(*os.File); ok {
		u.out, out = file, terminalWatch{file, watch}
	} else {
		out = watch
	}
	u.width.Store(term.DefaultWidth)
	opts = append(opts, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	u.prog = tea.NewProgram(&uiModel{ui: u, input: newInput()}, opts...)
	return u
}

// firstFrame is what the terminal shows until the work begins. Before a frame is drawn, lines
// must not be added above: the renderer takes the whole screen for its own, and clears it.
const firstFrame = "…"

// frameWatch is a terminal's output that tells when the first frame was written.
type frameWatch struct {
	io.Writer
	drawn func()
}

func (w frameWatch) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if strings.Contains(string(b), firstFrame) {
		w.drawn()
	}
	return n, err
}

// terminalWatch is the same for a terminal, whose size and modes are those of the file.
type terminalWatch struct {
	*os.File
	watch frameWatch
}

func (w terminalWatch) Write(b []byte) (int, error) { return w.watch.Write(b) }

// run shows the terminal for as long as work takes. If work panics, so does run, once the
// terminal is as it was.
func (u *ui) run(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer u.prog.Send(overMsg{})
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		select {
		case <-u.drawn:
		case <-time.After(time.Second): // a terminal that draws nothing keeps no work waiting
		case <-ctx.Done():
		}
		u.prog.Send(drawnMsg{})
		failed = work(ctx)
		u.flush()
	}()
	_, err := u.prog.Run()
	stop() // if the terminal is gone, nobody sees the rest
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return errors.Join(err, failed)
}

// Terminal is the terminal that is drawn on.
func (u *ui) Terminal() *os.File { return u.out }

func (u *ui) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	text := u.rest + string(b)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		u.rest = text[i+1:]
		u.println(text[:i])
	} else {
		u.rest = text
	}
	return len(b), nil
}

// println adds lines above. They break at words and keep their indentation.
func (u *ui) println(text string) {
	// Not with the program's own Println: that waits forever once the program has ended.
	u.prog.Send(tea.Println(term.WrapLines(text, int(u.width.Load())))())
}

// flush ends a line that was begun.
func (u *ui) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rest != "" {
		u.println(u.rest)
		u.rest = ""
	}
}

// read asks for a line. Ctrl-C is errInterrupted, Ctrl-D is io.EOF.
func (u *ui) read(ctx context.Context, prompt string, fresh bool) (string, error) {
	select {
	case a := <-u.ask(prompt, fresh):
		u.println(prompt + term.Visible(a.text)) // here, so that it is shown before what it causes
		return a.text, a.err
	case <-ctx.Done():
		u.prog.Send(question{})
		return "", context.Cause(ctx)
	}
}

func (u *ui) ask(prompt string, fresh bool) <-chan answer {
	u.flush()
	reply := make(chan answer, 1)
	u.prog.Send(question{prompt, reply, fresh})
	return reply
}

// question asks for input, answer is what was typed. A question without a channel takes back
// the one before.
type question struct {
	prompt string
	reply  chan<- answer
	fresh  bool // what was typed before is no part of the answer, and comes back after it
}

type answer struct {
	text string
	err  error
}

// statusMsg is what stands below the text: the line that is coming in, and the meter.
type statusMsg struct{ partial, meter string }

// drawnMsg begins the program, overMsg ends it.
type (
	drawnMsg struct{}
	overMsg  struct{}
)

type uiModel struct {
	ui      *ui
	input   textarea.Model
	asked   question // without a channel: nobody waits for input
	draft   string   // what was typed before a fresh question
	status  statusMsg
	history []string
	at      int // in the history; its length: what is being typed
	height  int
	drawn   bool // the first frame
	over    bool
}

func newInput() textarea.Model {
	t := textarea.New()
	t.ShowLineNumbers, t.DynamicHeight, t.MaxHeight, t.CharLimit = false, true, 12, 0
	t.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	t.EndOfBufferCharacter = ' '
	s := t.Styles()
	s.Focused = textarea.StyleState{Selection: s.Focused.Selection, Prompt: lipgloss.NewStyle().Bold(true)}
	t.SetStyles(s)
	t.SetVirtualCursor(false)
	t.Focus()
	return t
}

func (m *uiModel) Init() tea.Cmd { return nil }

func (m *uiModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.ui.width.Store(int64(msg.Width))
		m.height = msg.Height
		m.input.SetWidth(msg.Width)
	case statusMsg:
		m.status = msg
	case question:
		m.ask(msg)
	case drawnMsg:
		m.drawn = true
	case overMsg:
		m.over = true
		return m, tea.Quit
	case tea.KeyPressMsg:
		if !m.key(msg.String()) {
			m.input, cmd = m.input.Update(msg)
		}
	default:
		m.input, cmd = m.input.Update(msg)
	}
	return m, cmd
}

func (m *uiModel) ask(q question) {
	if q.reply == nil {
		if m.asked.reply != nil {
			m.clear()
		}
		return
	}
	if m.asked = q; q.fresh {
		m.draft = m.input.Value()
		m.input.Reset()
	}
	m.input.SetPromptFunc(term.Columns(q.prompt), func(i textarea.PromptInfo) string {
		if i.LineNumber > 0 {
			return strings.Repeat(" ", max(term.Columns(q.prompt)-2, 0)) + "… "
		}
		return q.prompt
	})
	m.input.SetWidth(int(m.ui.width.Load()))
}

// key handles the keys that are not the editor's.
func (m *uiModel) key(name string) bool {
	switch text := m.input.Value(); {
	case name == "ctrl+c" && m.asked.reply == nil:
		m.ui.interrupt()
	case name == "ctrl+c":
		m.answer(answer{text + "^C", errInterrupted})
	case name == "ctrl+d" && text == "" && m.asked.reply != nil:
		m.answer(answer{err: io.EOF})
	case name == "enter" && strings.HasSuffix(text, `\`):
		m.input.SetValue(strings.TrimSuffix(text, `\`) + "\n")
	case name == "enter":
		if m.asked.reply == nil {
			return true // it stays until somebody asks
		}
		if n := len(m.history); !m.asked.fresh && strings.TrimSpace(text) != "" && (n == 0 || m.history[n-1] != text) {
			m.history = append(m.history, text)
		}
		m.answer(answer{text: text})
	case (name == "up" || name == "ctrl+p") && m.input.Line() == 0:
		m.recall(-1)
	case (name == "down" || name == "ctrl+n") && m.input.Line() == m.input.LineCount()-1:
		m.recall(1)
	default:
		return false
	}
	return true
}

func (m *uiModel) answer(a answer) {
	m.asked.reply <- a
	m.clear()
}

// clear makes room for what is typed after a question.
func (m *uiModel) clear() {
	m.input.SetValue(m.draft)
	m.asked, m.draft = question{}, ""
	m.at = len(m.history)
}

// recall goes back or forth in the history.
func (m *uiModel) recall(by int) {
	if to := m.at + by; to >= 0 && to <= len(m.history) {
		m.at = to
		m.input.SetValue(strings.Join(slices.Concat(m.history, []string{""})[to:to+1], ""))
		m.input.MoveToEnd()
	}
}

func (m *uiModel) View() tea.View {
	switch {
	case m.over:
		return tea.NewView("")
	case !m.drawn:
		return tea.NewView(firstFrame)
	}
	width := int(m.ui.width.Load())
	var lines []string
	if m.status.partial != "" {
		lines = strings.Split(term.WrapWords(term.Untab(m.status.partial), width), "\n")
		lines = lines[max(len(lines)-max(m.height-m.input.Height()-3, 1), 0):]
	}
	if m.status.meter != "" {
		lines = append(lines, ansi.Truncate(m.status.meter, width, "…"))
	}
	view := tea.NewView("")
	if m.asked.reply != nil {
		if view.Cursor = m.input.Cursor(); view.Cursor != nil {
			view.Cursor.Y += len(lines)
		}
		lines = append(lines, m.input.View())
	}
	view.Content = strings.Join(lines, "\n")
	return view
}

// live runs work on the terminal, if there is one. SIGTERM ends it; what Ctrl-C stops, the
// work decides.
func (r *running) live(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	if !r.screen.live || r.f.asJSON {
		return work(ctx)
	}
	u := newUI(r.p.Stdin, r.p.Stdout, r.interrupt, tea.WithEnvironment(stores.ChildEnv()))
	u.width.Store(int64(r.screen.s.Width)) // until the terminal reports its size
	r.lines.ui, r.screen.ui, r.screen.w = u, u, u
	r.p = &term.Console{Stdin: r.p.Stdin, Stdout: u, Stderr: u, Getenv: r.p.Getenv}
	return u.run(ctx, work)
}
