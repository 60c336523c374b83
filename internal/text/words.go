package text

import (
	"iter"
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

// Stems yields the stem of a word in lower case; of a path or a compound name those of its
// parts.
func Stems(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune("/._-", r) }) {
			if !yield(stem(part)) {
				return
			}
		}
	}
}

// stem cuts the endings by which the forms of a word differ.
func stem(w string) string {
	w = strings.TrimSuffix(w, "'s")
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if len(w) > len(ending)+2 && strings.HasSuffix(w, ending) && !strings.HasSuffix(w, "ss") {
			w = strings.TrimSuffix(w, ending)
			break
		}
	}
	if n := len(w); n > 4 && w[n-1] == w[n-2] && w[n-1] != 'l' && w[n-1] != 's' { // committing
		w = w[:n-1]
	}
	if n := len(w); n > 4 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}
