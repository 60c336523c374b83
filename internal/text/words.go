package text

import (
	"strings"
	"unicode"
)

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
