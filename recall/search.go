package recall

// SearchRequest asks for lines in what was said and done. One call can ask several
// questions.
type SearchRequest struct {
	// Queries are the words to look for, one query for each question. Names are found by
	// their parts too; see search.Words. Words in double quotes should stand next to each
	// other. file:, tool:, by: and after: before a word narrow the query to calls that
	// touched a file, to a tool, to who said it, and to what came after a handle or message.
	Queries []string `json:"queries"`

	Hits   int  `json:"hits,omitempty"`   // most places for each query; 0: 24
	Strict bool `json:"strict,omitempty"` // only places that have what is in double quotes
	Around int  `json:"around,omitempty"` // lines shown before and after a hit; 0: 2; negative: none
	Budget int  `json:"budget,omitempty"` // most tokens of [SearchResult.Text]; 0: 2,500; negative: no bound
}

// SearchResult is what a search found. Its JSON form is for programs, Text for models.
type SearchResult struct {
	Answers []SearchAnswer `json:"answers"` // one for each query
}

// SearchAnswer is what was found for one query, best first.
type SearchAnswer struct {
	Query string `json:"query"`
	// Nothing has the query's words; these, which are near them, were looked for.
	Near string      `json:"near,omitempty"`
	Hits []SearchHit `json:"hits"`
	// More are the calls that show good places for which there was no room.
	More []string `json:"more,omitempty"`
	Left int      `json:"left,omitempty"` // weaker places without room

	Prefix string `json:"-"` // of the recall tools' names
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
