package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// screen is what a command knows about the terminal it writes to.
type screen struct {
	width  int
	colour bool
}

// defaultWidth is used if nothing says how wide the terminal is.
const defaultWidth = 80

// screen looks at standard output. COLUMNS wins over the terminal, so that output can be laid
// out for something that is no terminal.
func (p *program) screen() screen {
	f, terminal := terminalFile(p.stdout)
	s := screen{width: defaultWidth, colour: terminal && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"}
	if n, err := strconv.Atoi(p.getenv("COLUMNS")); err == nil && n > 0 {
		s.width = n
	} else if terminal {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.width = n
		}
	}
	s.width = min(max(s.width, 40), 160)
	return s
}

func terminalFile(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	info, err := f.Stat()
	return f, err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (s screen) bold(text string) string { return s.style("1", text) }
func (s screen) dim(text string) string  { return s.style("2", text) }

func (s screen) style(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// progress shows on a terminal how far long work has come. Elsewhere it is silent, and so
// is its zero value.
type progress struct {
	w     io.Writer
	next  time.Time
	shown bool
}

// Progress is first shown after progressAfter, so that short work stays silent, and then at
// most once in progressEvery.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress shows progress on standard error.
func (p *program) progress() *progress {
	if _, ok := terminalFile(p.stderr); !ok || p.getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{w: p.stderr, next: time.Now().Add(progressAfter)}
}

// say replaces the line shown before.
func (g *progress) say(format string, args ...any) {
	if g.w == nil {
		return
	}
	if now := time.Now(); now.After(g.next) {
		g.next, g.shown = now.Add(progressEvery), true
		fmt.Fprintf(g.w, "\r\x1b[K"+format, args...)
	}
}

// phase says at once what is done next, if the work is so long that something was shown.
func (g *progress) phase(format string, args ...any) {
	if g.shown {
		g.next = time.Time{}
	}
	g.say(format, args...)
}

// done removes the line.
func (g *progress) done() {
	if g.shown {
		fmt.Fprint(g.w, "\r\x1b[K")
		g.shown = false
	}
}
