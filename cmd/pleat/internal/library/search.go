package library

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Found is what a search found in one session.
type Found struct {
	Info   Info
	Result recall.SearchResult
	More   bool // there are more than were asked for; only told if there is no bound for the text
}

// Results is what a search over several sessions found.
type Results struct {
	// Found has the sessions first whose hits have most of the words, in one line or next to each other before
	// others; the newest of equals. What several have is told of the newest.
	Found      []Found
	Searched   int     // sessions
	Left       int     // older sessions that the filter's limit left out
	Unsearched int     // sessions within the limit that ctx ended before
	Problems   []error // why sessions could not be searched
}

// Search searches the sessions that the filter chooses; its Limit should be set if each has to be in the store
// first. If ctx ends, it returns what it found until then with the error.
func (l *Library) Search(ctx context.Context, f Filter, r recall.SearchRequest) (out Results, err error) {
	f.Plain = true // only what has hits is looked into
	p, err := l.List(ctx, f)
	out = Results{Left: max(p.Total-len(p.Sessions)-f.Offset, 0), Unsearched: len(p.Sessions)}
	if err != nil {
		return out, err
	}
	words := WordsOf(strings.Join(r.Queries, " "))
	told, most := make(map[string]bool), math.MaxInt
	if r.Budget < 0 && r.Hits > 0 {
		most = r.Hits
		r.Hits++ // tells whether there are more
	}
	in := func(info Info, r recall.SearchRequest) error {
		found, err := l.searchIn(ctx, info, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Unsearched--
		if err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("session %s was not searched: %w", info.ID, err))
			return nil
		}
		out.Searched++
		if found.once(told, most); len(found.Result.Answers) > 0 {
			out.Found = append(out.Found, found)
		}
		return nil
	}
	var without []Info // they have none of the words, and one may have a word that is near
	for i, info := range p.Sessions {
		if l.o.Progress != nil {
			l.o.Progress(i, len(p.Sessions))
		}
		have, failed := l.queriesIn(ctx, info, r.Queries)
		if failed == nil && len(have) == 0 {
			without = append(without, info)
			continue
		}
		if r := r; failed == nil {
			r.Queries = have
			err = in(info, r)
		} else {
			err = in(info, r) // which says why
		}
		if err != nil {
			break
		}
	}
	guess := slices.ContainsFunc(r.Queries, func(q string) bool { return query.Read(q).Guesses() }) && !r.Strict && len(out.Found) == 0
	for _, info := range without {
		if out.Unsearched--; err == nil && guess && info.File == "" {
			out.Unsearched++
			err = in(info, r)
		} else {
			out.Searched++
		}
	}
	slices.SortStableFunc(out.Found, func(a, b Found) int { return cmp.Compare(b.fit(words), a.fit(words)) })
	return out, err
}

// once leaves out hits that were told before, those that nobody asked for, and answers without hits.
func (f *Found) once(told map[string]bool, most int) {
	var answers []recall.SearchAnswer
	for _, a := range f.Result.Answers {
		a.Hits = slices.DeleteFunc(a.Hits, func(h recall.SearchHit) bool { return told[h.Handle] })
		if len(a.Hits) > most {
			a.Hits, f.More = a.Hits[:most], true
		}
		if len(a.Hits) > 0 {
			answers = append(answers, a)
		}
	}
	for _, a := range answers {
		for _, h := range a.Hits {
			told[h.Handle] = true
		}
	}
	f.Result.Answers = answers
}

func (f *Found) fit(words Words) (best int) {
	for _, a := range f.Result.Answers {
		best = max(best, words.Fit(a.Hits...))
	}
	return best
}

// queriesIn are those of the queries that a session may have something for. Most sessions need not be opened.
func (l *Library) queriesIn(ctx context.Context, info Info, queries []string) (have []string, err error) {
	if info.File != "" && l.o.Aside {
		return l.queriesInFile(info, queries)
	}
	st, ok := l.o.Store.(store.Searcher)
	if !ok {
		return queries, nil
	}
	key, err := l.Bring(ctx, info)
	for _, q := range queries {
		var hits []store.Hit
		if err == nil {
			hits, err = st.Search(ctx, key, query.Read(q).Asked, 1)
		}
		unable := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, store.ErrReadOnly) // the session can
		if err != nil && !unable {
			return nil, err
		}
		if err = nil; unable || len(hits) > 0 {
			have = append(have, q)
		}
	}
	return have, nil
}

func (l *Library) queriesInFile(info Info, queries []string) (have []string, err error) {
	f, ok := l.fileNow(info.ID)
	if !ok {
		return nil, store.ErrNotFound
	}
	in, err := f.open(false)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	data = bytes.ToLower(data)
	for _, q := range queries {
		if WordsOf(q).MayBeIn(data) {
			have = append(have, q)
		}
	}
	return have, err
}

// searchIn searches one of several sessions.
func (l *Library) searchIn(ctx context.Context, info Info, r recall.SearchRequest) (Found, error) {
	if info.File != "" && l.o.Aside {
		f, _ := l.fileNow(info.ID)
		f.whole = true
		l = New(Options{Store: store.NewMemory()})
		l.files[info.ID] = f
	}
	s, err := l.open(ctx, info)
	if err != nil {
		return Found{}, err
	}
	result, err := s.Search(ctx, r)
	list := []Info{info}
	if err == nil && len(result.Answers) > 0 {
		err = l.look(ctx, list, glance)
	}
	return Found{Info: list[0], Result: result}, err
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
