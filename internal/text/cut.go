package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutText returns the longest beginning of s of at most limit bytes that ends between
// two characters.
func CutText(s string, limit int) string { return s[:RuneStart(s, min(limit, len(s)))] }

// RuneStart moves a place in a text back to where a character begins.
func RuneStart(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// CutEnd returns the longest end of s of at most limit bytes that begins with a character.
func CutEnd(s string, limit int) string {
	at := max(len(s)-limit, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// ClipRunes is the first n characters of a text.
func ClipRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Clip cuts text to one line of at most n bytes, never inside a character. An ellipsis
// says that something is missing. If n is less than 8, what does not fit becomes "".
func Clip(s string, n int) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i] + "…"
	}
	if len(s) <= n {
		return s
	}
	if n < 8 {
		return ""
	}
	return CutText(s, n-len("…")) + "…"
}

// ClipPath is Clip for arguments, which often begin with a path: of a long one the end is
// kept, because that names the file.
func ClipPath(s string, n int) string {
	path, rest, _ := strings.Cut(s, " ")
	if len(s) <= n || strings.Count(path, "/") < 2 {
		return Clip(s, n)
	}
	for at := 0; len(s) > n; {
		next := strings.IndexByte(path[at+1:], '/')
		if next < 0 {
			break
		}
		at += 1 + next
		if s = "…" + path[at:]; rest != "" {
			s += " " + rest
		}
	}
	return Clip(s, n)
}

// OneLine puts single spaces between the words of a text and cuts it at limit bytes, never
// inside a character. An ellipsis behind them says that something is missing, so the result
// can be longer than limit by the ellipsis.
func OneLine(s string, limit int) string {
	cut := len(s) > 4*limit
	if cut {
		s = s[:4*limit]
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	if len(s) <= limit && !cut {
		return s
	}
	return CutText(s, limit) + "…"
}

// ShortMiddle cuts the middle out of a long text, at line ends where there are some.
func ShortMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := CutText(s, limit*2/3), CutEnd(s, limit/3)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return fmt.Sprintf("%s\n[… %s left out …]\n%s", head, Plural(len(s)-len(head)-len(tail), "byte"), tail)
}

// FirstWords cuts a text after its first n words.
func FirstWords(s string, n int) string {
	for i := range len(s) {
		if !IsSpaceByte(s[i]) && (i == 0 || IsSpaceByte(s[i-1])) {
			if n--; n < 0 {
				return strings.TrimRight(s[:i], " \n\t\r") + " …"
			}
		}
	}
	return s
}

// FirstLines returns the lines of a text that end within its first n bytes, without the
// last line feed.
func FirstLines(s string, n int) string {
	s = CutText(s, max(n, 0))
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return ""
}

// ClipQuestion cuts a text after at most n bytes, never inside a character. A space and an
// ellipsis behind them say that something is missing.
func ClipQuestion(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

// ClipAround cuts a text to about limit bytes around a place, between words, so that no
// number or name is shown in part. Ellipses say where something is missing.
func ClipAround(s string, at, limit int) string {
	if len(s) <= limit {
		return s
	}
	from := 0
	if at > limit*2/3 {
		from = BetweenWords(s, at-limit/3, +1)
	}
	to := len(s)
	if from+limit < to {
		to = BetweenWords(s, from+limit, -1)
	}
	out := strings.TrimSpace(s[from:max(to, from)])
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

// BetweenWords moves a place in a text to where no word is cut.
func BetweenWords(s string, i, step int) int {
	for i > 0 && i < len(s) && !IsSpaceByte(s[i]) && !IsSpaceByte(s[i-1]) {
		i += step
	}
	return i
}

// CutLast is [strings.Cut] at the last sep.
func CutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
