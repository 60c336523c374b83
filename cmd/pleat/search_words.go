package main

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rank puts the sessions first that have a line with most of the words, and those before others that
// have them next to each other; the newest of equals. Scores only tell hits of one session apart.
func (j *searchJSON) rank() {
	words := wordsOf(j.Query)
	fit := func(f foundJSON) (best int) {
		for _, h := range f.Hits {
			for _, l := range h.Shown {
				text, have := strings.ToLower(l.Text), 0
				for _, w := range words {
					if strings.Contains(text, w) {
						have += 2
					}
				}
				if strings.Contains(text, strings.Join(words, " ")) {
					have++
				}
				best = max(best, have)
			}
		}
		return best
	}
	slices.SortStableFunc(j.Sessions, func(a, b foundJSON) int {
		return cmp.Or(cmp.Compare(fit(b), fit(a)), b.Last.Compare(a.Last))
	})
}

// wordsOf are the words of a query without those that narrow it, in lower case and the singular.
func wordsOf(query string) (words []string) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for part := range strings.FieldsSeq(strings.ToLower(query)) {
		if strings.Contains(part, ":") { // file:PATH narrows
			continue
		}
		for word := range strings.FieldsFuncSeq(part, apart) {
			words = append(words, strings.TrimSuffix(word, "s"))
		}
	}
	return words
}

// hasWords reports whether a file has all words of a query, in any case. Those that JSON may
// escape are taken to be there.
func hasWords(file, query string) (bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	data = bytes.ToLower(data)
	for _, word := range wordsOf(query) {
		ascii := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if ascii && !bytes.Contains(data, []byte(word)) {
			return false, nil
		}
	}
	return true, nil
}
