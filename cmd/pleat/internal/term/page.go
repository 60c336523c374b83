package term

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Page writes lines for people and remembers the first error.
type Page struct {
	*bufio.Writer
	Screen
}

// Line writes a line.
func (p *Page) Line(format string, args ...any) {
	p.WriteString(string(Sprint(format, args...)) + "\n")
}

// Hang writes a text behind a prefix; the lines that it takes begin below one another, or
// below the prefix if that leaves too little room for a word.
func (p *Page) Hang(prefix Styled, text string) {
	if at := Columns(string(prefix)); !p.Whole && at+Columns(text) > p.Width {
		if at > 4 && at+Widest(strings.Fields(text), func(word string) string { return word }) > p.Width {
			p.Line("%s", Styled(strings.TrimRight(string(prefix), " ")))
			prefix, at = "    ", 4
		}
		text = strings.ReplaceAll(WrapWords(text, p.Width-at), "\n", "\n"+strings.Repeat(" ", at))
	}
	p.Line("%s%s", prefix, text)
}

// Title names the file that the page is about.
func (p *Page) Title(file string) { p.Line("%s", p.Bold(p.ClipMiddle(FileName(file), p.Width))) }

// Head begins a part of the page.
func (p *Page) Head(title, note string) {
	p.Line("")
	space := ""
	if note != "" {
		space = "  "
	}
	p.Line("%s%s%s", p.Bold(title), space, p.Dim(p.Clip(note, p.Width-Columns(title)-2)))
}

// FileName is the name of a session file for people.
func FileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}

// Progress shows on a terminal how far long work has come. Elsewhere it is silent, and so
// is its zero value.
type Progress struct {
	w     io.Writer
	what  string // that is being counted
	began time.Time
	next  time.Time
	shown bool
}

// Progress is first shown after progressAfter, so that short work stays silent, and then at
// most once in progressEvery.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// Progress shows progress on standard error.
func (p *Console) Progress() *Progress {
	if _, ok := terminalFile(p.Stderr); !ok || p.Getenv("TERM") == "dumb" {
		return &Progress{}
	}
	return &Progress{w: p.Stderr, next: time.Now().Add(progressAfter)}
}

// Say replaces the line shown before.
func (g *Progress) Say(format string, args ...any) {
	if g.w == nil {
		return
	}
	if now := time.Now(); now.After(g.next) {
		g.next, g.shown = now.Add(progressEvery), true
		fmt.Fprint(g.w, "\r\x1b[K"+Sprint(format, args...))
	}
}

// Share says how far the work is, and about how long the rest takes.
func (g *Progress) Share(done, all int, what string) {
	if g.w == nil {
		return
	}
	if g.what != what {
		g.what, g.began = what, time.Now()
	}
	left := ""
	if spent := time.Since(g.began); done > 0 && spent > time.Second {
		rest := time.Duration(float64(spent) / float64(done) * float64(all-done)).Round(time.Second)
		left = fmt.Sprintf(", %.1f a second, %v left", float64(done)/spent.Seconds(), rest)
	}
	g.Say("%s: %s of %s (%s)%s", what, Thousands(done), Thousands(all), Percent(done, all), left)
}

// AtOnce lets the next line be shown without a pause.
func (g *Progress) AtOnce() { g.next = time.Time{} }

// Done removes the line.
func (g *Progress) Done() {
	if g.shown {
		fmt.Fprint(g.w, "\r\x1b[K")
		g.shown = false
	}
}
