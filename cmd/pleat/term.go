package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// screen is what a command knows about the terminal it writes to.
type screen struct {
	width  int
	whole  bool // lines are not cut: nothing says how wide they may be
	colour bool
}

// defaultWidth is used if nothing says how wide the terminal is.
const defaultWidth = 80

// screen looks at standard output. COLUMNS wins over the terminal, so that output can be laid
// out for something that is no terminal.
func (p *program) screen() screen { return p.screenOf(p.stdout) }

func (p *program) screenOf(w io.Writer) screen {
	f, terminal := terminalFile(w)
	s := screen{width: defaultWidth, whole: !terminal, colour: terminal && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"}
	if n, err := strconv.Atoi(p.getenv("COLUMNS")); err == nil && n > 0 {
		s.width, s.whole = n, false
	} else if terminal {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			s.width = n
		}
	}
	s.width = min(max(s.width, 40), 160)
	return s
}

func terminalFile(w io.Writer) (*os.File, bool) {
	if u, ok := w.(*ui); ok {
		w = u.out
	}
	f, ok := w.(*os.File)
	if !ok || f == nil {
		return nil, false
	}
	info, err := f.Stat()
	return f, err == nil && info.Mode()&os.ModeCharDevice != 0
}

// styled is text that may have sequences for colours, because this program made it. All
// other text that is shown came from outside, or may have: see [shown].
type styled string

func (s screen) bold(text string) styled { return s.style("1", text) }
func (s screen) dim(text string) styled  { return s.style("2", text) }

func (s screen) style(code, text string) styled {
	text = visible(text)
	if bare := strings.TrimLeft(text, " "); s.colour && bare != "" { // what is wrapped keeps its indentation
		text = text[:len(text)-len(bare)] + "\x1b[" + code + "m" + bare + "\x1b[0m"
	}
	return styled(text)
}

// shown makes the arguments of a format fit for a terminal: every text is escaped, except
// styled ones.
func shown(args []any) []any {
	out := slices.Clone(args)
	for i, a := range out {
		switch a := a.(type) {
		case styled:
		case error:
			out[i] = visible(a.Error())
		case fmt.Stringer:
			out[i] = visible(a.String())
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.String {
				out[i] = visible(v.String())
			}
		}
	}
	return out
}

func sprint(format string, args ...any) styled { return styled(fmt.Sprintf(format, shown(args)...)) }

// printf and note write to standard output and standard error. On a terminal, lines break at
// words.
func (p *program) printf(format string, args ...any) { p.write(p.stdout, sprint(format, args...)) }

func (p *program) note(format string, args ...any) { p.write(p.stderr, sprint(format, args...)) }

func (p *program) write(w io.Writer, text styled) {
	if _, drawn := w.(*ui); !drawn { // which wraps by itself
		if _, terminal := terminalFile(w); terminal {
			text = p.screenOf(w).wrap(text)
		}
	}
	_, _ = io.WriteString(w, string(text))
}

func (s screen) wrap(text styled) styled {
	if widest(strings.Split(string(text), "\n"), func(l string) string { return l }) <= s.width {
		return text
	}
	return styled(wrapLines(string(text), s.width))
}

// wrapLines breaks lines at spaces. What is broken keeps its indentation.
func wrapLines(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = untab(line)
		indent := min(len(line)-len(strings.TrimLeft(line, " ")), width/2)
		rest := wrapWords(line[indent:], width-indent)
		out = append(out, line[:indent]+strings.ReplaceAll(rest, "\n", "\n"+line[:indent]))
	}
	return strings.Join(out, "\n")
}

// filled is how wide the texts of help are in the source: where the next word would not have
// fitted, a line goes on in the next.
const filled = 94

// refill breaks the lines of help anew, if they are wider than the screen. What stands in a
// second column stays there, or goes below the first if that leaves too little room.
func refill(text string, width int) string {
	lines := strings.Split(text, "\n")
	if widest(lines, func(l string) string { return l }) <= width {
		return text
	}
	var out []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		at := len(line) - len(strings.TrimLeft(line, " "))
		if gap := strings.Index(line[at:], "  "); gap >= 0 {
			at = len(line) - len(strings.TrimLeft(line[at+gap:], " "))
		}
		for end := columns(line); i+1 < len(lines); i++ {
			next := strings.TrimLeft(lines[i+1], " ")
			word, _, _ := strings.Cut(next, " ")
			if word == "" || len(lines[i+1])-len(next) != at || end+1+columns(word) <= filled {
				break
			}
			line, end = line+" "+next, columns(lines[i+1])
		}
		first, rest := line[:at], line[at:]
		if at > width/2 && strings.TrimSpace(first) != "" && columns(line) > width {
			out, at, first = append(out, strings.TrimRight(first, " ")), 8, "        "
		}
		rest = wrapWords(rest, max(width-at, 16))
		out = append(out, first+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", at)))
	}
	return strings.Join(out, "\n")
}

// untab writes tabs as spaces: a tab moves the cursor and leaves standing what it passes.
func untab(line string) string {
	for {
		before, after, ok := strings.Cut(line, "\t")
		if !ok {
			return line
		}
		line = before + strings.Repeat(" ", 8-columns(before)%8) + after
	}
}

// wrapWords breaks lines at spaces: names with hyphens stay whole, so that they can be copied.
func wrapWords(text string, width int) string {
	const hyphen = "\ue0f0" // for private use
	text = ansi.Wrap(strings.ReplaceAll(text, "-", hyphen), width, "")
	return strings.ReplaceAll(text, hyphen, "-")
}

// contents is standard output for texts of others. On a terminal they are escaped;
// elsewhere they come out byte for byte.
func (p *program) contents() io.Writer {
	if _, terminal := terminalFile(p.stdout); terminal {
		return &escaper{w: p.stdout}
	}
	return p.stdout
}

type escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

func (e *escaper) Write(b []byte) (int, error) {
	all := append(e.rest, b...)
	cut := len(all)
	for i := len(all) - 1; i >= max(len(all)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(all[i]) {
			if !utf8.FullRune(all[i:]) {
				cut = i
			}
			break
		}
	}
	_, err := io.WriteString(e.w, visible(string(all[:cut])))
	e.rest = slices.Clone(all[cut:])
	return len(b), err
}

// progress shows on a terminal how far long work has come. Elsewhere it is silent, and so
// is its zero value.
type progress struct {
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
		fmt.Fprint(g.w, "\r\x1b[K"+sprint(format, args...))
	}
}

// share says how far the work is, and about how long the rest takes.
func (g *progress) share(done, all int, what string) {
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
	g.say("%s: %s of %s (%s)%s", what, thousands(done), thousands(all), percent(done, all), left)
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
