package term

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Screen is what a command knows about the terminal it writes to.
type Screen struct {
	Width  int
	Whole  bool // lines are not cut: nothing says how wide they may be
	colour bool
}

// DefaultWidth is used if nothing says how wide the terminal is.
const DefaultWidth = 80

// Screen looks at standard output. COLUMNS wins over the terminal, so that output can be laid
// out for something that is no terminal.
func (p *Console) Screen() Screen { return p.screenOf(p.Stdout) }

func (p *Console) screenOf(w io.Writer) Screen {
	f, terminal := terminalFile(w)
	s := Screen{Width: DefaultWidth, Whole: !terminal, colour: terminal && p.Getenv("NO_COLOR") == "" &&
		p.Getenv("TERM") != "dumb"}
	if n, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width, s.Whole = n, false
	} else if terminal {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			s.Width = n
		}
	} else if f, ok := terminalFile(p.Stderr); ok { // a pipe that may end on it
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			s.Width = min(n, s.Width)
		}
	}
	s.Width = min(max(s.Width, 40), 160)
	return s
}

// drawn is a terminal that somebody draws on. It breaks lines by itself.
type drawn interface{ Terminal() *os.File }

func terminalFile(w io.Writer) (*os.File, bool) {
	if d, ok := w.(drawn); ok {
		w = d.Terminal()
	}
	f, ok := w.(*os.File)
	if !ok || f == nil {
		return nil, false
	}
	info, err := f.Stat()
	return f, err == nil && info.Mode()&os.ModeCharDevice != 0 && term.IsTerminal(int(f.Fd())) // /dev/null is none
}

// Styled is text that may have sequences for colours, because this program made it. All
// other text that is shown came from outside, or may have: see [shown].
type Styled string

// Bold, Dim and Style write text with sequences for colours, where there are colours.
func (s Screen) Bold(text string) Styled { return s.Style("1", text) }
func (s Screen) Dim(text string) Styled  { return s.Style("2", text) }

func (s Screen) Style(code, text string) Styled {
	text = Visible(text)
	if bare := strings.TrimLeft(text, " "); s.colour && bare != "" { // what is wrapped keeps its indentation
		text = text[:len(text)-len(bare)] + "\x1b[" + code + "m" + bare + "\x1b[0m"
	}
	return Styled(text)
}

// shown makes the arguments of a format fit for a terminal: every text is escaped, except
// styled ones.
func shown(args []any) []any {
	out := slices.Clone(args)
	for i, a := range out {
		switch a := a.(type) {
		case Styled:
		case error:
			out[i] = Visible(a.Error())
		case fmt.Stringer:
			out[i] = Visible(a.String())
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.String {
				out[i] = Visible(v.String())
			}
		}
	}
	return out
}

// Sprint is [fmt.Sprintf] with arguments that are fit for a terminal.
func Sprint(format string, args ...any) Styled { return Styled(fmt.Sprintf(format, shown(args)...)) }

func (s Screen) wrap(text Styled) Styled {
	if Widest(strings.Split(string(text), "\n"), func(l string) string { return l }) <= s.Width {
		return text
	}
	return Styled(WrapLines(string(text), s.Width))
}

// WrapLines breaks lines at spaces. What is broken keeps its indentation.
func WrapLines(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = Untab(line)
		indent := min(len(line)-len(strings.TrimLeft(line, " ")), width/2)
		rest := WrapWords(line[indent:], width-indent)
		out = append(out, line[:indent]+strings.ReplaceAll(rest, "\n", "\n"+line[:indent]))
	}
	return strings.Join(out, "\n")
}

// Untab writes tabs as spaces: a tab moves the cursor and leaves standing what it passes.
func Untab(line string) string {
	for {
		before, after, ok := strings.Cut(line, "\t")
		if !ok {
			return line
		}
		line = before + strings.Repeat(" ", 8-Columns(before)%8) + after
	}
}

// WrapWords breaks lines at spaces: names with hyphens stay whole, so that they can be copied.
func WrapWords(text string, width int) string {
	const hyphen = "\ue0f0" // for private use
	text = ansi.Wrap(strings.ReplaceAll(text, "-", hyphen), width, "")
	return strings.ReplaceAll(text, hyphen, "-")
}
