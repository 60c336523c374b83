package live

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// A command cannot erase itself from the question, and "always" means this command alone.
func TestPermission(t *testing.T) {
	var out bytes.Buffer
	r := &running{
		p: &term.Console{Stdout: &out}, f: &Flags{}, screen: &runScreen{w: &out}, always: make(map[[2]string]bool),
		lines: newLineReader(&term.Console{Stdin: strings.NewReader("always\n"), Stdout: &out}),
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
		Name: "write_file", Effect: agent.EffectWrite, Subject: "a.sh", Input: `{"path":"a.sh","content":"ls"}`,
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
		lines:  newLineReader(&term.Console{Stdin: in, Stdout: io.Discard}),
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
	difftest.Must(t, err)
	difftest.Must(t, self.Signal(syscall.SIGTERM))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Ctrl-C at the prompt ends the chat. Before, it only stops the answer.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no SIGINT")
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt) // whatever happens, it does not end the tests
	defer signal.Stop(caught)
	self, err := os.FindProcess(os.Getpid())
	difftest.Must(t, err)
	in, keys := io.Pipe()
	r := newRunning(in)
	prompts, asked := prompted(r.lines), make(chan string)
	r.agent, err = agent.New(t.Context(), &agent.Options{
		Store: store.NewMemory(), Key: store.SessionKey{Session: "chat"},
		Session: pleat.Options{Model: model.Model{Window: 100_000}},
		Generator: model.GeneratorFunc(func(
			ctx context.Context, req *model.Request, _ func(model.Delta),
		) (model.Reply, error) {
			asked <- req.Messages[len(req.Messages)-1].Text()
			<-ctx.Done()
			return model.Reply{}, ctx.Err()
		}),
	})
	difftest.Must(t, err)
	defer r.agent.Close()
	done := make(chan error, 1)
	go func() { done <- r.live(t.Context(), r.chat) }()
	for _, text := range []string{"first", "second", ""} {
		<-prompts
		if text != "" {
			if _, err := io.WriteString(keys, text+"\n"); err != nil {
				t.Fatal(err)
			}
			if got := <-asked; got != text {
				t.Errorf("the model was asked %q", got)
			}
		}
		difftest.Must(t, self.Signal(os.Interrupt))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A chat has one command.
func TestChatCommands(t *testing.T) {
	r := newRunning(strings.NewReader(""))
	if err := r.turn(t.Context(), "/context"); err == nil || !strings.Contains(err.Error(), "/compact FOCUS") {
		t.Errorf("got %v", err)
	}
}
