package text

import (
	"fmt"
	"strconv"
	"strings"
)

// plural writes a count with its noun: "1 line", "1,204 lines".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// thousands writes a number with commas between its thousands.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func Kilobytes(n int) string { return fmt.Sprintf("%.1fKB", float64(n)/1024) }

// lineCount counts lines as people do: a last line without its line feed counts.
func LineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// lineEnd is the end of the line that begins at start, with its line feed.
func LineEnd(text string, start int) int {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(text)
}

// numberEnd is the length of the line number that tools put before a line, 0 if none:
// "   12→", "12\t", "12:", "L12: ".
func NumberEnd(line string) int {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == 'L') {
		i++
	}
	from := i
	for i < len(line) && i-from < 7 && ByteClass[line[i]] == ByteDigit {
		i++
	}
	if i == from || i == len(line) {
		return 0
	}
	switch {
	case strings.HasPrefix(line[i:], "→"):
		return i + len("→")
	case line[i] == '\t' || line[i] == ':' || line[i] == '|':
		return i + 1
	}
	return 0
}
