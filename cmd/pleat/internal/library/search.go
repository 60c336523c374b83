package library

import (
	"context"
	"errors"

	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Found is what a search found in one session.
type Found struct {
	Info   Info                `json:"session"`
	Result recall.SearchResult `json:"result"`
}

// Results is what a search over several sessions found.
type Results struct {
	Found      []Found  `json:"found"`                // newest session first
	Searched   int      `json:"searched"`             // sessions
	Left       int      `json:"left,omitempty"`       // older sessions that the filter's limit left out
	Unsearched int      `json:"unsearched,omitempty"` // sessions within the limit that ctx ended before
	Problems   []string `json:"problems,omitempty"`   // sessions that could not be searched, and why
}

// Search searches the sessions that the filter chooses; its Limit should be set, since each
// has to be in the store first. If ctx ends, it returns what it found until then with the error.
func (l *Library) Search(ctx context.Context, f Filter, r recall.SearchRequest) (Results, error) {
	p, err := l.List(ctx, f)
	out := Results{Left: max(p.Total-len(p.Sessions)-f.Offset, 0), Unsearched: len(p.Sessions)}
	if err != nil {
		return out, err
	}
	for _, info := range p.Sessions {
		result, err := l.searchIn(ctx, info, r)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Unsearched--
		if err != nil {
			out.Problems = append(out.Problems, info.ID+": "+err.Error())
			continue
		}
		out.Searched++
		if len(result.Answers) > 0 {
			out.Found = append(out.Found, Found{info, result})
		}
	}
	return out, nil
}

// searchIn searches one of several sessions. The result has only queries that found something.
func (l *Library) searchIn(ctx context.Context, info Info, r recall.SearchRequest) (recall.SearchResult, error) {
	key, err := l.Bring(ctx, info)
	if err != nil {
		return recall.SearchResult{}, err
	}
	if st, ok := l.o.Store.(store.Searcher); ok { // most need not be opened
		var have []string
		for _, q := range r.Queries {
			hits, err := st.Search(ctx, key, query.Read(q).Asked, 1)
			unable := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, store.ErrReadOnly) // the session can
			if err != nil && !unable {
				return recall.SearchResult{}, err
			}
			if unable || len(hits) > 0 {
				have = append(have, q)
			}
		}
		if r.Queries = have; len(have) == 0 {
			return recall.SearchResult{}, nil
		}
	}
	s, err := l.open(ctx, info)
	if err != nil {
		return recall.SearchResult{}, err
	}
	result, err := s.Search(ctx, r)
	var found []recall.SearchAnswer
	for _, a := range result.Answers {
		if len(a.Hits) > 0 {
			found = append(found, a)
		}
	}
	return recall.SearchResult{Answers: found}, err
}

// Apart returns a search result for somebody who does not see the session's view.
func Apart(r recall.SearchResult) recall.SearchResult {
	for _, a := range r.Answers {
		for i := range a.Hits {
			a.Hits[i].Visible = false
		}
	}
	return r
}
