package main

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

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

// hasWords reports whether a file has all words of a query, in any case. Those that JSON may
// escape are taken to be there.
func hasWords(file, query string) (bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	data = bytes.ToLower(data)
	for _, word := range library.WordsOf(query) {
		ascii := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if ascii && !bytes.Contains(data, []byte(word)) {
			return false, nil
		}
	}
	return true, nil
}
