package text

import (
	"strings"
	"unicode/utf8"
)

// ListMark is the length of a list marker at the beginning of a line, 0 if there is none:
// "- ", "* ", "• ", "3. ", "3) ", "(3) ", "b) ", "## ".
func ListMark(line string) int {
	i := 0
	switch {
	case line == "":
		return 0
	case strings.HasPrefix(line, "•"):
		i = len("•")
	case line[0] == '-' || line[0] == '*' || line[0] == '+':
		i = 1
	case line[0] == '#':
		i = len(line) - len(strings.TrimLeft(line, "#"))
	default:
		open := line[0] == '('
		if open {
			i = 1
		}
		from := i
		i += min(DigitsEnd(line, i)-i, 3)
		if i == from && i < len(line) && IsLetterByte(line[i]) {
			i++
		}
		if i == from || i >= len(line) || line[i] != ')' && (open || line[i] != '.') {
			return 0
		}
		i++
	}
	if i < len(line) && line[i] != ' ' && line[i] != '\t' {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line[i:], " \t"))
}

// SentenceEnd is the length of the first sentence of s, its end mark included.
func SentenceEnd(s string) int {
	ticks := false // inside `code`
	for i, r := range s {
		switch r {
		case '`':
			ticks = !ticks
		case '。', '！', '？':
			return i + utf8.RuneLen(r)
		case '.', '!', '?':
			if ticks {
				continue
			}
			end := len(s) - len(strings.TrimLeft(s[i+1:], ".!?\"')*_"))
			if end == len(s) || IsSpaceByte(s[end]) && !numbers(s[:i]) {
				return end
			}
		}
	}
	return len(s)
}

// numbers reports whether a full stop after this text belongs to the short number of an item.
func numbers(before string) bool { return len(before) < 3 && IsDigits(before) }
