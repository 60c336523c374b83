package live

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// A command cannot erase itself from the question, and "always" means this command alone.
func TestPermission(t *testing.T) {
	var out bytes.Buffer
	r := &running{
		p: &term.Console{Stdout: &out}, f: &Flags{}, screen: &runScreen{w: &out}, always: make(map[[2]string]bool),
		lines: &lineReader{out: &out, scanner: bufio.NewScanner(strings.NewReader("always\n"))},
	}
	call := agent.Call{Name: "bash", Subject: "find . -name *.go\x1b[2K\rls"}
	if d := r.askPerson(t.Context(), call); !d.Allow {
		t.Errorf("not allowed: %+v", d)
	}
	if strings.ContainsAny(out.String(), "\x1b\r") || !strings.Contains(out.String(), `*.go\u001b[2K\u000dls`) {
		t.Errorf("the question is %q", out.String())
	}
	for subject, want := range map[string]bool{call.Subject: true, "find . -name x.go\x1b[2K\rls": false, call.Subject +
		" -delete": false} {
		d, err := r.permit(t.Context(), agent.Call{Name: "bash", Subject: subject})
		if err != nil || d.Allow != want {
			t.Errorf("%q: %+v, %v", subject, d, err)
		}
	}
}

// "Always" for a file allows the content that was shown, and no other.
func TestPermitWrite(t *testing.T) {
	r := newRunning(strings.NewReader("always\n"))
	call := agent.Call{
		Name:    "write_file",
		Effect:  agent.EffectWrite,
		Subject: "a.sh",
		Input:   `{"path":"a.sh","content":"ls"}`,
	}
	if d := r.askPerson(t.Context(), call); !d.Allow {
		t.Errorf("not allowed: %+v", d)
	}
	for input, want := range map[string]bool{call.Input: true, `{"path":"a.sh","content":"rm -rf ~"}`: false} {
		call.Input = input
		if d, err := r.permit(t.Context(), call); err != nil || d.Allow != want {
			t.Errorf("%s: %+v, %v", input, d, err)
		}
	}
}

// Only the whole answer allows a call.
func TestAnswers(t *testing.T) {
	for typed, want := range map[string]agent.Decision{
		" Yes ":           {Allow: true},
		"a":               {Allow: true},
		"a test is wrong": {Reason: "the user said: a test is wrong"},
		"always ask me":   {Reason: "the user said: always ask me"},
		"y not":           {Reason: "the user said: y not"},
		"no, too slow":    {Reason: "the user said: no, too slow"},
		"n too slow":      {Reason: "too slow"},
		"":                {Reason: "the user said no"},
	} {
		r := newRunning(strings.NewReader(typed + "\n"))
		if d := r.askPerson(t.Context(), agent.Call{Name: "bash", Subject: "ls"}); d != want {
			t.Errorf("%q: %+v", typed, d)
		}
		if len(r.always) > 0 && typed != "a" {
			t.Errorf("%q allows for good", typed)
		}
	}
}

// newRunning is a run that reads what is typed from in.
func newRunning(in io.Reader) *running {
	return &running{
		p:      &term.Console{Stdout: io.Discard},
		f:      &Flags{},
		screen: &runScreen{w: io.Discard},
		always: make(map[[2]string]bool),
		lines:  &lineReader{out: io.Discard, scanner: bufio.NewScanner(in)},
	}
}

// A question ends with the run that it belongs to. The line that is typed afterwards is not
// lost.
func TestQuestionEnds(t *testing.T) {
	in, keys := io.Pipe()
	r := newRunning(in)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if d := r.askPerson(ctx, agent.Call{Name: "bash", Subject: "ls"}); d.Allow ||
		!strings.Contains(d.Reason, "stopped") {
		t.Errorf("got %+v", d)
	}
	go func() { _, _ = io.WriteString(keys, "next\n") }()
	if text, err := r.lines.read(t.Context(), "› "); text != "next" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	log := &screenLog{}
	in, keys = io.Pipe()
	u := newUI(in, log, func() {}, tea.WithWindowSize(60, 20))
	if err := u.run(t.Context(), func(context.Context) error {
		r.lines.ui = u
		if d := r.askPerson(ctx, agent.Call{Name: "bash", Subject: "ls"}); d.Allow {
			t.Errorf("got %+v", d)
		}
		reply := u.ask("› ", false)
		if _, err := io.WriteString(keys, "next\r"); err != nil {
			return err
		}
		if a := <-reply; a.text != "next" {
			t.Errorf("got %+v", a)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// atRead is input that never comes. It says when somebody waits for it.
type atRead struct{ waits chan struct{} }

func (r atRead) Read([]byte) (int, error) {
	close(r.waits)
	select {}
}

// SIGTERM ends a chat that waits for input.
func TestTerminate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no SIGTERM")
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM) // whatever happens, it does not end the tests
	defer signal.Stop(caught)
	in := atRead{make(chan struct{})}
	r := newRunning(in)
	done := make(chan error, 1)
	go func() { done <- r.live(t.Context(), r.chat) }()
	<-in.waits
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// interruptedStore is a store during whose work somebody presses Ctrl-C.
type interruptedStore struct {
	stores.Store
	r       *running
	stopped bool
}

func (s *interruptedStore) Sessions(ctx context.Context, _ string) iter.Seq2[store.SessionInfo, error] {
	s.r.interrupt()
	s.stopped = ctx.Err() != nil
	return func(yield func(store.SessionInfo, error) bool) { yield(store.SessionInfo{}, context.Canceled) }
}

// Ctrl-C stops a command of the chat too.
func TestCommandStops(t *testing.T) {
	r := newRunning(strings.NewReader("/sessions\n"))
	r.f.store = &stores.Flags{}
	s := &interruptedStore{r: r}
	r.store = s
	if err := r.chat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !s.stopped {
		t.Error("the command goes on")
	}
}
