package fence

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown writes control characters as escapes: whatever a reader may take for the end of a line, but for a
// line feed and a carriage return where a line ends, and what a terminal would obey. Tabs stay.
func Shown(text string) string {
	if strings.IndexFunc(text, isHidden) < 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for i, r := range text {
		if !isHidden(r) || r == '\r' && (i+1 == len(text) || text[i+1] == '\n') {
			continue
		}
		fmt.Fprintf(&b, `%s\u%04x`, text[done:i], r)
		done = i + utf8.RuneLen(r)
	}
	return b.String() + text[done:]
}

func isHidden(r rune) bool { return r != '\n' && r != '\t' && (breaksLine(r) || unicode.IsControl(r)) }
