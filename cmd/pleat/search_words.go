package main

import (
	"bytes"
	"cmp"
	"os"
	"slices"

	"github.com/pleat-dev/pleat/internal/library"
)

// rank puts the sessions first that have a line with most of the words, and those before others that
// have them next to each other; the newest of equals.
func (j *searchJSON) rank() {
	words := library.WordsOf(j.Query)
	slices.SortStableFunc(j.Sessions, func(a, b foundJSON) int {
		return cmp.Or(cmp.Compare(words.Fit(b.Hits...), words.Fit(a.Hits...)), b.Last.Compare(a.Last))
	})
}

// hasWords reports whether a file may have one of the words, in any case.
func hasWords(file string, words library.Words) (bool, error) {
	data, err := os.ReadFile(file)
	return err == nil && words.MayBeIn(bytes.ToLower(data)), err
}
