package library_test

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/recall"
)

// A line with all words goes before one with some, and one that has them side by side before both.
func TestWords(t *testing.T) {
	words := library.WordsOf("Upload limits file:server.toml")
	hit := func(text string) recall.SearchHit { return recall.SearchHit{Shown: []recall.Line{{Text: text}}} }
	side, both, one := hit("the upload limit"), hit("limit of an UPLOAD"), hit("uploads")
	if !(words.Fit(one, side) > words.Fit(both) && words.Fit(both) > words.Fit(one)) {
		t.Errorf("fit %d, %d, %d", words.Fit(one, side), words.Fit(both), words.Fit(one))
	}
	if len(words) != 2 || words.Has(both) != 2 || words.Has(one) != 1 {
		t.Errorf("%q: %d and %d", words, words.Has(both), words.Has(one))
	}
}
