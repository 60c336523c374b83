package pleat

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// SearchRequest asks for lines in what was said and done. One call can ask several
// questions.
type SearchRequest struct {
	// Queries are the words to look for, one query for each question. Names are found
	// by their parts; see [Words]. Nothing in them is an operator.
	Queries []string `json:"queries"`

	Hits   int `json:"hits,omitempty"`   // most places for each query; 0: 24
	Around int `json:"around,omitempty"` // lines shown before and after a hit; 0: 2; negative: none
	Budget int `json:"budget,omitempty"` // most tokens of [SearchResult.Text]; 0: 2,500; negative: no bound
}

// The defaults of a search.
const (
	searchHits   = 24
	searchAround = 2
	searchBudget = 2_500
)

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
// each, and what stands around the best of them.
type SearchHit struct {
	Source
	Shown []Line  `json:"shown"`
	Score float64 `json:"score"` // larger is better; comparable within one answer
	// Same counts older places that show the same lines.
	Same int `json:"same,omitempty"`
	// Cut is the call that shows the lines which found no room; empty: all are shown,
	// or those that match with what is between them left out visibly.
	Cut string `json:"cut,omitempty"`
}

// Search looks for lines in everything that was said and done in the session, folded or
// not, and returns the best places for each query. Every place says what it is, where,
// and what made it stale since. What the model can see anyway comes after what it cannot;
// questions to the recall tools and their answers are left out. It needs a store that
// can search: see [Searcher].
//
// Its cost depends on the query and on what is found, not on the length of the session
// beyond what the store's index needs.
func (s *Session) Search(ctx context.Context, r SearchRequest) (SearchResult, error) {
	engine, ok := s.store.(Searcher)
	if !ok {
		return SearchResult{}, errors.New("search: the store cannot search")
	}
	if len(r.Queries) == 0 {
		return SearchResult{}, errors.New("search: no query was given")
	}
	r.fill()
	defer s.begin(ctx)()
	var res SearchResult
	budget := r.Budget
	for i, q := range r.Queries {
		x := newSearcher(s.finder(), r, q)
		x.call = s.calls()
		places, err := engine.Search(ctx, s.key, x.asked, searchCandidates)
		if err != nil {
			return SearchResult{}, fmt.Errorf("search %q: %w", clip(q, 80), err)
		}
		s.tell(Event{Kind: EventRecall, Recall: q})
		a, room := SearchAnswer{Query: q}, math.MaxInt
		if r.Budget >= 0 {
			room = budget / (len(r.Queries) - i) // what one answer leaves is the next one's
		}
		budget -= a.lay(x.rank(places), room, s.st.count.CountText)
		res.Answers = append(res.Answers, a)
	}
	if err := s.st.msgs.fault(); err != nil {
		return SearchResult{}, fmt.Errorf("search: %w", err)
	}
	return res, nil
}

func (r *SearchRequest) fill() {
	if r.Hits <= 0 {
		r.Hits = searchHits
	}
	switch {
	case r.Around == 0:
		r.Around = searchAround
	case r.Around < 0:
		r.Around = 0
	}
	if r.Budget == 0 {
		r.Budget = searchBudget
	}
}
