package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/pleat-dev/pleat/internal/text"
)

// thousands writes 1,204, and plural "1 call" or "1,204 calls".
var thousands, plural = text.Thousands, text.Plural

// verb is plural with the verb that follows: "1 call was", "2 calls were".
func verb(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return plural(n, noun) + " " + many
}

// short writes a number in at most five characters: 950, 9.5k, 61k, 1.2M.
func short(n int) string {
	f := float64(n)
	switch {
	case n < 1_000:
		return strconv.Itoa(n)
	case n < 9_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
	return fmt.Sprintf("%.0fM", f/1e6)
}

// byteSize writes a size for people: 812 B, 4.1 kB, 12 MB.
func byteSize(n int64) string {
	f, units := float64(n), []string{"B", "kB", "MB", "GB"}
	i := 0
	for ; f >= 999.5 && i < len(units)-1; i++ {
		f /= 1000
	}
	if i == 0 || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// oneLine puts a text on one line of a terminal. White space becomes single spaces, and
// characters that could move the cursor are escaped.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 2_000)], "") // nothing shows more
	return strings.Join(strings.Fields(visible(s)), " ")
}

// clip cuts a line to n columns of a terminal and ends it with an ellipsis.
func clip(s string, n int) string { return ansi.Truncate(s, max(n, 1), "…") }

// clip cuts a line for a terminal. What goes elsewhere stays whole.
func (s screen) clip(text string, n int) string {
	if s.whole {
		return text
	}
	return clip(text, n)
}

// clipMiddle cuts the middle out of a line that is longer than n columns. Both ends of a
// path matter, but where there is little room, only its end tells it from others.
func (s screen) clipMiddle(text string, n int) string {
	w := columns(text)
	if head := (n - 1) / 3; w > n && n >= 8 && !s.whole {
		if n < 32 {
			head = 0
		}
		return ansi.Truncate(text, head+1, "…") + ansi.TruncateLeft(text, w-(n-1-head), "")
	}
	return s.clip(text, n)
}

// pad fills a line up to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 0))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-columns(s), 0)) + s
}

// widest is the width of the widest of the cells that a column of a table has.
func widest[T any](list []T, cell func(T) string) int {
	n := 0
	for _, x := range list {
		n = max(n, columns(cell(x)))
	}
	return n
}

// columns is the width of a line in a terminal.
func columns(s string) int { return ansi.StringWidth(s) }

// bar draws part of whole as a bar of n columns, precise to an eighth of a column.
func bar(part, whole, n int) string {
	if whole <= 0 || part <= 0 || n <= 0 {
		return pad("", n)
	}
	eighths := min(max((part*n*8+whole/2)/whole, 1), n*8)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return pad(s, n)
}

// tokenCount is a flag for a number of tokens: 60000, 60_000, 60k, 0.2M.
type tokenCount int

func (t *tokenCount) String() string {
	switch n := int(*t); {
	case n == 0:
		return ""
	case n%1_000 == 0:
		return strconv.Itoa(n/1_000) + "k"
	default:
		return strconv.Itoa(n)
	}
}

func (t *tokenCount) Type() string { return "tokens" }

func (t *tokenCount) Set(s string) error {
	num, factor := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", "")), 1.0
	if thousands, ok := strings.CutSuffix(num, "k"); ok {
		num, factor = thousands, 1e3
	} else if millions, ok := strings.CutSuffix(num, "m"); ok {
		num, factor = millions, 1e6
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f*factor >= 1 && f*factor <= 1e12) {
		return fmt.Errorf("want a number of tokens such as 60000, 60_000, 60k or 0.2M")
	}
	*t = tokenCount(f*factor + 0.5)
	return nil
}

// visible is a text that came from a model, a tool, a file or a session, as it can be shown
// on a terminal: control characters, and those that reorder or hide text, are written as
// escapes.
func visible(s string) string {
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
