package library

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/search"
)

// Words are those of a query, each with its other forms, that the lines which a search shows are
// measured by. Scores only tell hits of one session apart.
type Words [][]string

// WordsOf are the words that a search for the query looks for, without those that narrow it. A name that has
// parts is a word beside them: whoever types one looks for it first.
func WordsOf(q string) (words Words) {
	typed := search.QueryWords(q)
	for word := range strings.FieldsSeq(query.Read(q).Asked) {
		switch {
		case !slices.Contains(typed, word): // a form of another
		case len(search.QueryWords(word)) > 1:
			words = append(words, []string{word})
		default:
			words = append(words, strings.Fields(query.Read(word).Asked))
		}
	}
	return words
}

// Fit is greater the more of the words one of the hits has, then the more one of its lines has, and if
// it has them next to each other.
func (w Words) Fit(hits ...recall.SearchHit) (best int) {
	for _, h := range hits {
		best = max(best, w.fit(strings.ToLower(shownText(h)), best))
	}
	return best
}

// fit is [Words.Fit] of a text in lower case. A text that cannot be better than another need not be looked at
// line by line.
func (w Words) fit(text string, other int) (best int) {
	has := w.in(text)
	if has == 0 || w.unit()*(has+1) <= other {
		return 0
	}
	var short []string
	for _, forms := range w {
		short = append(short, slices.MinFunc(forms, func(a, b string) int { return len(a) - len(b) }))
	}
	phrase := strings.Join(short, " ")
	for line := range strings.Lines(text) {
		fit := 2 * w.in(line)
		if strings.Contains(line, phrase) {
			fit++
		}
		best = max(best, fit)
	}
	return best + w.unit()*has
}

// best is how well the best window of a text in lower case fits, if that is better than another.
func (w Words) best(text string, other int) (best int) {
	if w.unit()*(w.in(text)+1) <= other {
		return 0
	}
	for window := range search.Windows(text) {
		best = max(best, w.fit(window.Text, max(best, other)))
	}
	return best
}

// unit is what a word is worth that the text has, more than all that lines are.
func (w Words) unit() int { return 2 * (len(w) + 1) }

// all reports whether a text that fits so well has all the words.
func (w Words) all(fit int) bool { return fit >= w.unit()*len(w) }

// Has is how many of the words the shown lines of a hit have.
func (w Words) Has(h recall.SearchHit) int { return w.in(strings.ToLower(shownText(h))) }

func shownText(h recall.SearchHit) string {
	var shown strings.Builder
	for _, l := range h.Shown {
		shown.WriteString(l.Text + "\n")
	}
	return shown.String()
}

// in is how many of the words a text in lower case has.
func (w Words) in(text string) (n int) {
	for _, forms := range w {
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
			n++
		}
	}
	return n
}
