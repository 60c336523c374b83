package recall

import (
	"strings"

	"github.com/pleat-dev/pleat/search"
)

// recallQuery is a query as the ranking takes it.
type recallQuery struct {
	words []string
	index map[string]int // place in words of each word, and of the other forms of it
	asked string         // what a store is asked: the words, then their other forms
}

func readQuery(query string) recallQuery {
	q := recallQuery{words: search.QueryWords(query), index: make(map[string]int)}
	for i, w := range q.words {
		q.index[w] = i
	}
	asked := q.words[:len(q.words):len(q.words)]
	for i, w := range q.words {
		for _, form := range wordForms(w) {
			if _, known := q.index[form]; !known {
				q.index[form] = i
				asked = append(asked, form)
			}
		}
	}
	q.asked = strings.Join(asked, " ")
	return q
}

// wordForms are other forms in which a word may stand where it is looked for: the
// singular of a plural, the verb of "reading" and "removed", optout for opt-out. The index
// has words as they were written, so what is one word to a reader is asked for in each of
// its forms. The rules are those of English; a form that is no word finds nothing.
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
