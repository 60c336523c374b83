// Package text reads and cuts text without knowing where it comes from: bytes, lines,
// sentences, Markdown, exact names, and the words by which sentences that matter are
// found. All its functions are pure.
package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Blank reports whether text is nothing but space: providers refuse such text, so that it stands for nothing.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// IsSpaceByte reports whether c is a space, a tab or part of a line end.
func IsSpaceByte(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// IsLetterByte reports whether c is an ASCII letter.
func IsLetterByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsDigitByte reports whether c is an ASCII digit.
func IsDigitByte(c byte) bool { return '0' <= c && c <= '9' }

// IsLetterRune reports whether r is an ASCII letter or lies beyond ASCII.
func IsLetterRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f }

// IsDigits reports whether s is one or more digits.
func IsDigits(s string) bool { return s != "" && DigitsEnd(s, 0) == len(s) }

// DigitsEnd is the end of the run of digits that begins at i, i if there is none.
func DigitsEnd[T string | []byte](s T, i int) int {
	for i < len(s) && IsDigitByte(s[i]) {
		i++
	}
	return i
}

// IsNumber reports whether a name is a number, a version or an address like 10.0.0.1.
func IsNumber(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
}

// IsHex reports whether a word is a digest: hexadecimal with a digit in it.
func IsHex(s string) bool {
	digits := 0
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case IsDigitByte(s[i]):
			digits++
		case c < 'a' || c > 'f':
			return false
		}
	}
	return digits > 0
}

// WordSet makes a set of the words in a text.
func WordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// NameOf is the name of a value that counts from 0, "unknown" if it has none.
func NameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

// ContainsAny reports whether a text contains one of the parts.
func ContainsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// HasAnyPrefix reports whether a text begins with one of the prefixes.
func HasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// PlainName makes the spellings of a tool's name equal: TodoWrite, todo_write, todowrite.
func PlainName(tool string) string {
	var b strings.Builder
	for i := range len(tool) {
		switch c := tool[i]; {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c | 0x20)
		case c != '_' && c != '-':
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Plural writes a count with its noun: "1 line", "1,204 lines".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Thousands writes a number with commas between its thousands.
func Thousands[T ~int](n T) string {
	s := strconv.Itoa(int(n))
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Kilobytes writes a size in bytes as kilobytes with one decimal.
func Kilobytes(n int) string { return fmt.Sprintf("%.1fKB", float64(n)/1024) }

// LineCount counts lines as people do: a last line without its line feed counts.
func LineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// LineEnd is the end of the line that begins at start, with its line feed.
func LineEnd(text string, start int) int {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(text)
}

// NumberEnd is the length of the line number that tools put before a line, 0 if none:
// "   12→", "12\t", "12:", "L12: ".
func NumberEnd(line string) int {
	from := len(line) - len(strings.TrimLeft(line, " L"))
	i := from + min(DigitsEnd(line, from)-from, 7)
	switch {
	case i == from || i == len(line):
		return 0
	case strings.HasPrefix(line[i:], "→"):
		return i + len("→")
	case line[i] == '\t' || line[i] == ':' || line[i] == '|':
		return i + 1
	}
	return 0
}

// LineHash is the hash of a line without its indentation, number and list marks, 0 if
// little is left of it.
func LineHash(line string) uint64 {
	line = strings.Trim(line[NumberEnd(line):], " \t\r>-*#|,;")
	if len(line) < 8 {
		return 0
	}
	return TextHash(line)
}

// TextHash is the hash of a text; never 0.
func TextHash(s string) uint64 {
	h := uint64(hashSeed)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return h | 1
}

// JoinSections joins the sections that are not empty, with a blank line between them.
func JoinSections(sections ...string) string {
	var kept []string
	for _, s := range sections {
		if s = strings.TrimRight(s, "\n"); s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n\n")
}

// Place is the name of a folder for people: the last two parts of its path.
func Place(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return strings.Join(parts[max(len(parts)-2, 0):], "/")
}

// Word is a word of a text, in lower case and with a plain apostrophe. It keeps what joins
// its parts: don't, src/legacy, v1.2, foo_bar.
type Word struct {
	Text       string
	Start, End int // where it stands in the text, with the marks that were cut off its end
}

// Words splits a text into the words that people would see in it. For what a search finds
// a text by, see package search.
func Words(s string) []Word {
	var words []Word
	for at := 0; ; {
		n := strings.IndexFunc(s[at:], isWordRune)
		if n < 0 {
			return words
		}
		start, end := at+n, len(s)
		if n := strings.IndexFunc(s[start:], endsWord); n >= 0 {
			end = start + n
		}
		w := strings.ToLower(strings.TrimRight(s[start:end], "'’.-"))
		words = append(words, Word{strings.ReplaceAll(w, "’", "'"), start, end})
		at = end
	}
}

func isWordRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func endsWord(r rune) bool { return !isWordRune(r) && !strings.ContainsRune("'’./-", r) }

// Short writes a number in at most five characters: 950, 9.5k, 61k, 1.2M.
func Short[T ~int](n T) string {
	f := float64(n)
	switch {
	case n < 1_000:
		return strconv.Itoa(int(n))
	case n < 9_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
	return fmt.Sprintf("%.0fM", f/1e6)
}

// Tokens reads a number of tokens as people write it: 60000, 60_000, 60k, 0.2M.
func Tokens(s string) (n int, ok bool) {
	num, factor := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", "")), 1.0
	if thousands, ok := strings.CutSuffix(num, "k"); ok {
		num, factor = thousands, 1e3
	} else if millions, ok := strings.CutSuffix(num, "m"); ok {
		num, factor = millions, 1e6
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f*factor >= 1 && f*factor <= 1e12) {
		return 0, false
	}
	return int(f*factor + 0.5), true
}

// ByteSize writes a size for people: 812 B, 4.1 kB, 12 MB.
func ByteSize(n int64) string {
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

// Cents writes an amount with cents, or with what is left below a cent.
func Cents(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	n := int(math.Round(usd * 100))
	return fmt.Sprintf("$%s.%02d", Thousands(n/100), n%100)
}
