package term

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/internal/text"
)

// Plural writes "1 call" or "1,204 calls", ByteSize 4.1 kB and Cents $1.20.
var Plural, ByteSize, Cents = text.Plural, text.ByteSize, text.Cents

// Thousands writes a number with commas between its thousands.
func Thousands[T ~int](n T) string { return text.Thousands(n) }

// Short writes 9.5k.
func Short[T ~int](n T) string { return text.Short(n) }

// Verb is plural with the verb that follows: "1 call was", "2 calls were".
func Verb(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return Plural(n, noun) + " " + many
}

// Percent writes part of whole: 61%.
func Percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// OneLine puts a text on one line of a terminal. White space becomes single spaces, and
// characters that could move the cursor are escaped.
func OneLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 2_000)], "") // nothing shows more
	return strings.Join(strings.Fields(Visible(s)), " ")
}

// Clip cuts a line to n columns of a terminal and ends it with an ellipsis.
func Clip(s string, n int) string { return ansi.Truncate(s, max(n, 1), "…") }

// Clip cuts a line for a terminal. What goes elsewhere stays whole.
func (s Screen) Clip(text string, n int) string {
	if s.Whole {
		return text
	}
	return Clip(text, n)
}

// ClipMiddle cuts the middle out of a line that is longer than n columns. Both ends of a
// path matter, but where there is little room, only its end tells it from others.
func (s Screen) ClipMiddle(text string, n int) string {
	w := Columns(text)
	if head := (n - 1) / 3; w > n && n >= 8 && !s.Whole {
		if n < 32 {
			head = 0
		}
		return ansi.Truncate(text, head+1, "…") + ansi.TruncateLeft(text, w-(n-1-head), "")
	}
	return s.Clip(text, n)
}

// Pad fills a line up to n columns.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-Columns(s), 0))
}

// PadLeft fills a line up to n columns from the left.
func PadLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-Columns(s), 0)) + s
}

// Widest is the width of the widest of the cells that a column of a table has.
func Widest[T any](list []T, cell func(T) string) int {
	n := 0
	for _, x := range list {
		n = max(n, Columns(cell(x)))
	}
	return n
}

// Columns is the width of a line in a terminal.
func Columns(s string) int { return ansi.StringWidth(s) }

// Bar draws part of whole as a bar of n columns, precise to an eighth of a column.
func Bar(part, whole, n int) string {
	if whole <= 0 || part <= 0 || n <= 0 {
		return Pad("", n)
	}
	eighths := min(max((part*n*8+whole/2)/whole, 1), n*8)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return Pad(s, n)
}

// Visible is a text that came from a model, a tool, a file or a session, as it can be shown
// on a terminal: control characters, and those that reorder or hide text, are written as
// escapes.
func Visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	plain := func(r rune) bool {
		return r == '\n' || r == '\t' || r == '\u200d' || unicode.IsPrint(r) || unicode.In(r, unicode.Zs, unicode.Co)
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case plain(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// IndentBy puts a prefix before every line.
func IndentBy(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+prefix)
}

// DidYouMean names those of a list that differ from a word by little of its length.
func DidYouMean(prefix, word string, names []string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: min(len(word)/2, 2)} // cobra compares the names of commands
	for _, name := range names {
		if name != word {
			c.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
		}
	}
	close := c.SuggestionsFor(word)
	if len(close) == 0 {
		return ""
	}
	return " (did you mean " + prefix + strings.Join(close, " or "+prefix) + "?)"
}

// Passwords in a text: in the address of a server, whatever characters the password has,
// and in the words of a connection string. One in an address goes to the last @ before a quotation mark,
// or before a space if it begins as a port does. Whatever stands before a colon may be a user, but for the
// drive of a path: better hide words than show a password.
var (
	nextAddress   = regexp.MustCompile(`(?i)(?:\s\S*?|")[a-z][a-z0-9+.-]+:/`)
	passwordInURL = regexp.MustCompile(`(?i)((?::/+|\b(?:postgres|http)\w*[:/]+)[^\s:/@"]*):` +
		`(?:[^\s\d"][^"\n]*@(?:\S*@)?|\S*@)|` +
		`([^\s:/@"'=]):(?:[^\s\d/"\\][^"\n]*@(?:\S*@)?|\d[^\s"]*@)|([^\s:/@"'=]{2}):\\[^\s"]*@`)
	passwordInWord = regexp.MustCompile(`(?i)\b((?:ssl)?password|passwd|pwd)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'"]+)`)
)

// WithoutPassword is a text that can be shown: no address in it has its password.
func WithoutPassword(s string) string {
	out, begin := "", 0
	for _, next := range append(nextAddress.FindAllStringIndex(s, -1), []int{len(s)}) {
		out += passwordInURL.ReplaceAllString(s[begin:next[0]], "$1$2$3:xxxxx@")
		begin = next[0]
	}
	return passwordInWord.ReplaceAllString(out, "$1${2}xxxxx")
}

// filled is how wide the lists of help are in the source: where the next word would not have
// fitted, an item goes on in the next line.
const filled = 94

// Refill breaks the lines of help anew, if they are wider than the screen. Lines that are not
// indented are one paragraph up to an empty one, wherever its source breaks them. What stands in a
// second column stays there, or goes below the first if that leaves too little room. What is left of
// an example is indented: it is no line of its own.
func Refill(text string, width int) string {
	lines := strings.Split(text, "\n")
	if Widest(lines, func(l string) string { return l }) <= width {
		return text
	}
	var out []string
	hang := 0
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch line {
		case "Examples:":
			hang = 4
		case "":
			hang = 0
		}
		at := len(line) - len(strings.TrimLeft(line, " "))
		if gap := strings.Index(line[at:], "  "); gap >= 0 {
			at = len(line) - len(strings.TrimLeft(line[at+gap:], " "))
		}
		for end := Columns(line); i+1 < len(lines); i++ {
			next := strings.TrimLeft(lines[i+1], " ")
			word, _, _ := strings.Cut(next, " ")
			if line == "" || word == "" || hang > 0 || len(lines[i+1])-len(next) != at ||
				at > 0 && end+1+Columns(word) <= filled {
				break
			}
			line, end = line+" "+next, Columns(lines[i+1])
		}
		first, rest := line[:at], line[at:]
		if at > width/2 && strings.TrimSpace(first) != "" && Columns(line) > width {
			out, at, first = append(out, strings.TrimRight(first, " ")), 8, "        "
		}
		if Columns(rest) > width-at {
			rest = WrapWords(rest, max(width-at-hang, 16))
		}
		out = append(out, first+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", at+hang)))
	}
	return strings.Join(out, "\n")
}
