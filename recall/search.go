package recall

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
	SearchBudget = 2_500
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

func (r *SearchRequest) Fill() {
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
		r.Budget = SearchBudget
	}
}
