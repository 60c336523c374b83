package library

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/search"
)

// Words are those of a query, each with its other forms, that the lines which a search shows are
// measured by. Scores only tell hits of one session apart.
type Words [][]string

// WordsOf are the words that a search for the query looks for, without those that narrow it. Of a name
// that has parts they are the parts.
func WordsOf(q string) (words Words) {
	typed := search.QueryWords(q)
	for word := range strings.FieldsSeq(query.Read(q).Asked) {
		if slices.Contains(typed, word) && len(search.QueryWords(word)) == 1 { // else it is a form of another
			words = append(words, strings.Fields(query.Read(word).Asked))
		}
	}
	return words
}

// Fit is greater the more of the words one of the hits has, then the more one of its lines has, and if
// it has them next to each other.
func (w Words) Fit(hits ...recall.SearchHit) (best int) {
	var short []string
	for _, forms := range w {
		short = append(short, slices.MinFunc(forms, func(a, b string) int { return len(a) - len(b) }))
	}
	phrase := strings.Join(short, " ")
	for _, h := range hits {
		all := 2 * (len(w) + 1) * w.Has(h)
		for _, l := range h.Shown {
			fit := all + 2*w.in(l.Text)
			if strings.Contains(strings.ToLower(l.Text), phrase) {
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
	for _, forms := range w {
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
			n++
		}
	}
	return n
}

// MayBeIn reports whether JSON in lower case may have one of the words: it may escape those that are
// not ASCII. If there are none, it may be what is looked for.
func (w Words) MayBeIn(data []byte) bool {
	escaped := func(r rune) bool { return r >= utf8.RuneSelf }
	return len(w) == 0 || slices.ContainsFunc(slices.Concat(w...), func(form string) bool {
		return strings.ContainsFunc(form, escaped) || bytes.Contains(data, []byte(form))
	})
}
