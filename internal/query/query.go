// Package query reads what a search asks for: its words, and where to look.
package query

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/search"
)

// Query is a query in the form that ranking needs.
type Query struct {
	Words  []string
	Index  map[string]int // index in Words of each word and of its other forms
	Asked  string         // what a store is asked for: the words, then their other forms
	Quoted []int          // words that must follow the one before them
	Narrow Narrowing
	Bare   bool // it says where to look, and no words
}

// Narrowing is where a query says to look.
type Narrowing struct {
	File, Tool string
	By         string // "user", "assistant", "tool"
	After      string // a handle, or the number of a message
}

// Read reads a query.
func Read(query string) *Query {
	q := &Query{Index: make(map[string]int)}
	var plain []string
	for _, word := range strings.Fields(query) {
		name, value, _ := strings.Cut(word, ":")
		switch {
		case value == "" || strings.HasPrefix(value, "/"): // a URL has slashes there
			plain = append(plain, word)
		case name == "file":
			q.Narrow.File = value
		case name == "tool":
			q.Narrow.Tool = value
		case name == "by":
			q.Narrow.By = value
		case name == "after":
			q.Narrow.After = value
		default:
			plain = append(plain, word)
		}
	}
	if len(plain) == 0 {
		q.Bare = q.Narrows()
		plain = []string{q.Narrow.File, q.Narrow.Tool}
	}
	query = strings.Join(plain, " ")
	q.Words = search.QueryWords(query)
	for i, w := range q.Words {
		q.Index[w] = i
	}
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			for _, w := range search.QueryWords(part)[min(1, len(search.QueryWords(part))):] {
				q.Quoted = append(q.Quoted, q.Index[w])
			}
		}
	}
	asked := q.Words[:len(q.Words):len(q.Words)]
	for i, w := range q.Words {
		for _, form := range wordForms(w) {
			if _, known := q.Index[form]; !known {
				q.Index[form] = i
				asked = append(asked, form)
			}
		}
	}
	q.Asked = strings.Join(asked, " ")
	return q
}

// Narrows reports whether the query looks only in some places.
func (q *Query) Narrows() bool { return q.Narrow != Narrowing{} }

// Guesses reports whether a search that finds nothing looks for words near those of the query. One that
// narrows finds nothing because of where it looks: its words may well be right.
func (q *Query) Guesses() bool { return !q.Narrows() && slices.ContainsFunc(q.Words, isLong) }

// isLong reports whether a word is long enough to be known with a slip in it.
func isLong(w string) bool { return len(w) > 4 }

// wordForms returns other forms of a word: the singular of a plural, the verb of "reading"
// and "removed", optout for opt-out. A store finds words as they were written, so it is
// asked for each form. The rules are those of English; a form that is no word finds nothing.
func wordForms(w string) []string {
	if strings.ContainsAny(w, "-_") {
		return []string{strings.NewReplacer("-", "", "_", "").Replace(w)}
	}
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return nil
	}
	ends := func(suffix string) bool { return strings.HasSuffix(w, suffix) }
	stem := func(cut int) string { return w[:len(w)-cut] }
	switch {
	case ends("ies") && len(w) > 4:
		return []string{stem(3) + "y"}
	case ends("sses"), ends("shes"), ends("ches"), ends("xes"):
		return []string{stem(2)}
	case ends("ss"):
		return []string{w + "es"}
	case ends("s"):
		return []string{stem(1)}
	case ends("ing") && len(w) > 5:
		return []string{stem(3), stem(3) + "e", stem(3) + "s", stem(3) + "ed"}
	case ends("ed") && len(w) > 4:
		return []string{stem(2), stem(1), stem(2) + "ing", stem(2) + "s"}
	case ends("y"):
		return []string{stem(1) + "ies"}
	}
	return []string{w + "s"}
}

// IsSlip reports whether a word is long, and other is the same with one slip in it.
func IsSlip(word, other string) bool { return isLong(word) && oneSlip(word, other) }

// oneSlip reports whether one letter more, less, wrong or in its neighbour's place tells a
// from b.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
