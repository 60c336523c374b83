package text

import (
	"slices"
	"strings"
)

// wordSet makes a set of the words in a text.
func WordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// containsAny reports whether a text contains one of the parts.
func ContainsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// plainName makes the spellings of a tool's name equal: TodoWrite, todo_write, todowrite.
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

// lineHash is the hash of a line without its indentation, number and list marks, 0 if
// little is left of it.
func LineHash(line string) uint64 {
	line = strings.Trim(line[NumberEnd(line):], " \t\r>-*#|,;")
	if len(line) < 8 {
		return 0
	}
	return TextHash(line)
}

// textHash is the hash of a text; never 0.
func TextHash(s string) uint64 {
	h := uint64(hashSeed)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return h | 1
}
