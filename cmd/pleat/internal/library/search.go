package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	Some       int     // sessions that have only some of the words, where others have all
	Problems   []error // why sessions could not be searched
}

// Search searches the sessions that the filter chooses. If ctx ends, it returns what it found until then with the error.
func (l *Library) Search(ctx context.Context, f Filter, r recall.SearchRequest) (out Results, err error) {
	f.Plain = true // only what has hits is looked into
	p, err := l.List(ctx, f)
	left := max(p.Total-len(p.Sessions)-f.Offset, 0)
	if err != nil {
		return Results{Left: left, Unsearched: len(p.Sessions)}, err
	}
	most := math.MaxInt
	if r.Budget < 0 && r.Hits > 0 {
		most = r.Hits
		r.Hits++ // tells whether there are more
	}
	if l.o.Index == "" && l.o.Home == "" { // a store alone knows which of its sessions have the words
		out, err = l.searchEach(ctx, p.Sessions, r)
	} else {
		out, err = l.searchIndex(ctx, l.o.Index, p.Sessions, f.Any, r)
	}
	if err != nil && ctx.Err() == nil && l.o.Index != "" {
		l.o.Logger.Warn("there is no search index: every session is read", "error", err)
		out, err = l.searchIndex(ctx, "", p.Sessions, f.Any, r)
	}
	guesses := func(q string) bool { return query.Read(q).Guesses() }
	if err == nil && len(out.Found) == 0 && !r.Strict && slices.ContainsFunc(r.Queries, guesses) {
		err = l.guess(ctx, p.Sessions, r, &out)
	}
	out.Left = left
	out.order(WordsOf(strings.Join(r.Queries, " ")), most, f.Any || len(r.Queries) > 1)
	return out, err
}

// searchEach searches sessions of the store one after the other.
func (l *Library) searchEach(ctx context.Context, list []Info, r recall.SearchRequest) (out Results, err error) {
	for i, info := range list {
		if l.o.Progress != nil {
			l.o.Progress(i, len(list))
		}
		ask := r
		have, err := l.queriesIn(ctx, info, r.Queries)
		if err == nil {
			ask.Queries = have
		}
		if len(ask.Queries) > 0 { // of one that failed it says why
			err = l.searchIn(ctx, info, ask, &out)
		}
		if ctx.Err() != nil {
			out.Unsearched = len(list) - i
			return out, ctx.Err()
		}
		if err == nil {
			out.Searched++
		}
	}
	return out, nil
}

// guess searches the sessions of the store, in which nothing was found, for words that are near those of the
// queries.
func (l *Library) guess(ctx context.Context, list []Info, r recall.SearchRequest, out *Results) error {
	for _, info := range list {
		if info.File != "" {
			continue
		}
		if err := l.searchIn(ctx, info, r, out); err != nil {
			out.Searched--
		}
		if ctx.Err() != nil {
			out.Unsearched++
		}
	}
	return ctx.Err()
}

// order puts what was found in order, tells what several sessions have of the newest, and leaves out what nobody
// asked for: more hits than most, and, unless any is set, sessions that have only some of the words where others
// have all.
func (out *Results) order(words Words, most int, any bool) {
	told := make(map[string]bool)
	for i := range out.Found {
		out.Found[i].once(words, told, most)
	}
	out.Found = slices.DeleteFunc(out.Found, func(f Found) bool { return len(f.Result.Answers) == 0 })
	slices.SortStableFunc(out.Found, func(a, b Found) int { return cmp.Compare(b.fit(words), a.fit(words)) })
	if n := slices.IndexFunc(out.Found, func(f Found) bool { return !words.all(f.fit(words)) }); n > 0 && !any {
		out.Some += len(out.Found) - n
		out.Found = out.Found[:n]
	}
}

// once leaves out hits that were told before, by their handle or their lines, those that nobody asked for, and
// answers without hits. Hits with most of the words come first.
func (f *Found) once(words Words, told map[string]bool, most int) {
	var answers []recall.SearchAnswer
	for _, a := range f.Result.Answers {
		a.Hits = slices.DeleteFunc(a.Hits, func(h recall.SearchHit) bool { return told[h.Handle] || told[shownText(h)] })
		if most < math.MaxInt {
			slices.SortStableFunc(a.Hits, func(a, b recall.SearchHit) int { return words.Has(b) - words.Has(a) })
		}
		if len(a.Hits) > most {
			a.Hits, f.More = a.Hits[:most], true
		}
		if len(a.Hits) > 0 {
			answers = append(answers, a)
		}
	}
	for _, a := range answers {
		for _, h := range a.Hits {
			told[h.Handle], told[shownText(h)] = true, true
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
	for _, q := range queries {
		hits, err := l.o.Store.Search(ctx, info.Key, query.Read(q).Asked, 1)
		unable := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, store.ErrReadOnly) // the session can
		if err != nil && !unable {
			return nil, err
		}
		if unable || len(hits) > 0 {
			have = append(have, q)
		}
	}
	return have, nil
}

// searchIn searches one of several sessions. What fails is one of the problems, and of the results once.
func (l *Library) searchIn(ctx context.Context, info Info, r recall.SearchRequest, out *Results) error {
	in := l.aside(info)
	s, err := in.open(ctx, info)
	found := Found{Info: info}
	if err == nil {
		found.Result, err = s.Search(ctx, r)
	}
	if err == nil && slices.ContainsFunc(found.Result.Answers, func(a recall.SearchAnswer) bool { return len(a.Hits) > 0 }) {
		if found.Info, err = in.about(ctx, info); err == nil {
			out.Found = append(out.Found, found)
		}
	}
	if err != nil && ctx.Err() == nil {
		out.fail(info, err)
	}
	return err
}

// about completes what is known of a session.
func (l *Library) about(ctx context.Context, info Info) (Info, error) {
	list := []Info{info}
	err := l.look(ctx, list, glance)
	return list[0], err
}

// fail says once why a session was not searched.
func (out *Results) fail(info Info, err error) {
	err = fmt.Errorf("session %s was not searched: %w", info.ID, err)
	if !slices.ContainsFunc(out.Problems, func(p error) bool { return p.Error() == err.Error() }) {
		out.Problems = append(out.Problems, err)
	}
}

// aside is a library of the file of a session, whose messages it keeps in memory: what is searched in files is not
// given to the store. A session without a file is in this one.
func (l *Library) aside(info Info) *Library {
	if info.File == "" {
		return l
	}
	f, _ := l.fileNow(info.ID)
	f.whole = true
	one := New(Options{Store: store.NewMemory()})
	one.files[info.ID] = f
	return one
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
