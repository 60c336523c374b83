package live

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// ui is a terminal on which what is written scrolls up. Below it stand the text that is coming
// in and the meter of the window.
type ui struct {
	p     *term.Console // whose standard output is the terminal
	mu    sync.Mutex    // held while somebody types, too
	below string        // the rows that stand below
}

// Terminal is the terminal that is written to.
func (u *ui) Terminal() *os.File {
	f, _ := u.p.Stdout.(*os.File)
	return f
}

// Write adds whole lines. They break at words and keep their indentation.
func (u *ui) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(b), u.put(term.WrapLines(string(b), u.p.Screen().Width), u.below)
}

// show replaces what stands below.
func (u *ui) show(below string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.put("", below) // a terminal that is gone ends the run by itself
}

// put replaces what stands below with a text, and with what then stands below that.
func (u *ui) put(text, below string) error {
	if text == "" && below == u.below {
		return nil
	}
	if u.below != "" {
		text = "\r" + strings.Repeat("\x1b[A", strings.Count(u.below, "\n")) + "\x1b[J" + text
	}
	if u.below = below; below != "" {
		below += "\r" // what is typed meanwhile, such as ^C, takes no row of its own
	}
	_, err := io.WriteString(u.p.Stdout, text+below)
	return err
}

// hold shows a prompt, and nothing else until somebody has typed a line and release is called.
// What stood below stays above the prompt.
func (u *ui) hold(prompt string) (release func()) {
	u.mu.Lock()
	if u.below != "" {
		u.below, prompt = "", "\n"+prompt
	}
	_, _ = io.WriteString(u.p.Stdout, prompt)
	return u.mu.Unlock
}

// entered is told of a line that was typed: if nobody had asked, its end moved the cursor down.
func (u *ui) entered() {
	if u.mu.TryLock() {
		if u.below != "" {
			u.below += "\n"
		}
		u.mu.Unlock()
	}
}

// live runs work on the terminal, if there is one. SIGTERM ends it; what Ctrl-C stops, the
// work decides.
func (r *running) live(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	if r.screen.live && !r.f.asJSON {
		u := &ui{p: r.p}
		defer u.show("")
		r.lines.ui, r.lines.out, r.screen.ui, r.screen.w = u, u, u, u
		r.p = &term.Console{Stdin: r.p.Stdin, Stdout: u, Stderr: u, Getenv: r.p.Getenv}
	}
	return work(ctx)
}
