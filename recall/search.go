package recall

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/store"
)

// SearchRequest asks for lines in what was said and done. One call can ask several
// questions.
type SearchRequest struct {
	// Queries are the words to look for, one query for each question. Names are found by
	// their parts too; see [search.Words]. There are no operators.
	Queries []string `json:"queries"`

	Hits   int `json:"hits,omitempty"`   // most places for each query; 0: 24
	Around int `json:"around,omitempty"` // lines shown before and after a hit; 0: 2; negative: none
	Budget int `json:"budget,omitempty"` // most tokens of [SearchResult.Text]; 0: 2,500; negative: no bound
}

// SearchResult is what a search found. Its JSON form is for programs, Text for models.
type SearchResult struct {
	Answers []SearchAnswer `json:"answers"` // one for each query
}

// SearchAnswer is what was found for one query, best first.
type SearchAnswer struct {
	Query string      `json:"query"`
	Hits  []SearchHit `json:"hits"`
	// More are the calls that show good places for which there was no room.
	More []string `json:"more,omitempty"`
	Left int      `json:"left,omitempty"` // weaker places without room
}

// SearchHit is a source with the places in it that match a query: up to a dozen lines
// each, the best with the lines around them.
type SearchHit struct {
	Source
	Shown []Line  `json:"shown"`
	Score float64 `json:"score"` // larger is better; comparable within one answer
	// Same counts older places that show the same lines.
	Same int `json:"same,omitempty"`
	// Cut is the call that shows lines for which there was no room; empty: the lines that
	// match are all shown.
	Cut string `json:"cut,omitempty"`
}

// Search finds the best places for each query. ask gets up to n windows of text from a
// store for the words of a query, which include other forms of what the query has.
func (f *Finder) Search(r SearchRequest, ask func(query, words string, n int) ([]store.Hit, error)) (SearchResult, error) {
	r.Hits = cmp.Or(max(r.Hits, 0), 24)
	r.Around = max(cmp.Or(r.Around, 2), 0)
	r.Budget = cmp.Or(r.Budget, searchBudget)
	var res SearchResult
	budget := r.Budget
	for i, q := range r.Queries {
		x := newSearcher(f, r, q)
		places, err := ask(q, x.asked, searchCandidates)
		if err != nil {
			return SearchResult{}, fmt.Errorf("search %q: %w", text.Clip(q, 80), err)
		}
		a, room := SearchAnswer{Query: q}, math.MaxInt
		if r.Budget >= 0 {
			room = budget / (len(r.Queries) - i) // what one answer leaves is the next one's
		}
		budget -= a.lay(x.rank(places), room, f.Count.CountText)
		res.Answers = append(res.Answers, a)
	}
	return res, nil
}

// recallQuery is a query in the form that ranking needs.
type recallQuery struct {
	words []string
	index map[string]int // index in words of each word and of its other forms
	asked string         // what a store is asked for: the words, then their other forms
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
