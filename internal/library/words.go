package library

import (
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/recall"
)

// Words are those of a query, in lower case and the singular, that the lines which a search shows are
// measured by. Scores only tell hits of one session apart.
type Words []string

// WordsOf are the words of a query without those that narrow it.
func WordsOf(query string) (words Words) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for part := range strings.FieldsSeq(strings.ToLower(query)) {
		if strings.Contains(part, ":") { // file:PATH narrows
			continue
		}
		for word := range strings.FieldsFuncSeq(part, apart) {
			if word = strings.TrimSuffix(word, "s"); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// Fit is greater the more of the words a line of the hits has, and if it has them next to each other.
func (w Words) Fit(hits ...recall.SearchHit) (best int) {
	for _, h := range hits {
		for _, l := range h.Shown {
			fit := 2 * w.in(l.Text)
			if strings.Contains(strings.ToLower(l.Text), strings.Join(w, " ")) {
				fit++
			}
			best = max(best, fit)
		}
	}
	return best
}

// Has is how many of the words the shown lines of a hit have.
func (w Words) Has(h recall.SearchHit) int {
	var shown strings.Builder
	for _, l := range h.Shown {
		shown.WriteString(l.Text + "\n")
	}
	return w.in(shown.String())
}

func (w Words) in(text string) (n int) {
	text = strings.ToLower(text)
	for _, word := range w {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}
