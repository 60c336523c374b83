package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/textindex"
	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/recall"
)

// searchIndex answers from the index in a file, or from one that it makes for this search alone, what it can, after
// that has got what is new in the sessions. A damaged index is made again.
func (l *Library) searchIndex(
	ctx context.Context, file string, list []Info, any bool, r recall.SearchRequest,
) (out Results, err error) {
	for again := true; ; again = false {
		x, err := textindex.Open(ctx, file)
		if err == nil {
			s := &indexSearch{l: l, x: x, list: list, r: r}
			err = s.run(ctx, any)
			out = s.out
			x.Close()
		}
		if !again || !textindex.IsDamaged(err) || textindex.Remove(file) != nil {
			return out, err
		}
		l.o.Logger.Warn("the search index was damaged; it is made again", "file", file)
	}
}

// indexSearch is one search in the index.
type indexSearch struct {
	l    *Library
	x    *textindex.Index
	list []Info // the newest first
	r    recall.SearchRequest
	out  Results
}

func (s *indexSearch) run(ctx context.Context, any bool) error {
	read, late := s.bring(ctx)
	if late != nil && ctx.Err() == nil {
		return late
	}
	ctx = context.WithoutCancel(ctx) // what there is can be searched in no time
	s.out.Unsearched = len(s.list) - read
	s.list = s.list[:read]
	s.out.Searched = read - len(s.out.Problems)
	found := make([]Found, len(s.list))
	for _, q := range s.r.Queries {
		if err := s.answer(ctx, q, any, found); err != nil {
			return err
		}
	}
	s.out.Found = slices.DeleteFunc(found, func(f Found) bool { return len(f.Result.Answers) == 0 })
	return late
}

// stamp changes whenever a session does.
func (i Info) stamp() string {
	return fmt.Sprint(i.Bytes, " ", i.Entries, " ", i.Modified.UnixNano())
}

// bring gives the index what is new in the sessions, and returns how many of them it has as they are now.
func (s *indexSearch) bring(ctx context.Context) (read int, err error) {
	stamps, err := s.x.Stamps(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.l.dropGone(ctx, s.x, stamps); err != nil {
		return 0, err
	}
	fresh := slices.DeleteFunc(slices.Clone(s.list), func(i Info) bool { return stamps[i.ID] == i.stamp() })
	done := 0
	for i, info := range s.list {
		if stamps[info.ID] == info.stamp() {
			continue
		}
		if s.l.o.Progress != nil {
			s.l.o.Progress(done, len(fresh))
		}
		done++
		content, err := s.l.indexed(ctx, info)
		if ctx.Err() != nil {
			return i, ctx.Err()
		}
		if err != nil {
			s.out.fail(info, err)
			continue
		}
		if err := s.x.Put(ctx, info.ID, info.stamp(), content); err != nil {
			return i, err
		}
	}
	return len(s.list), nil
}

// dropGone takes sessions that are gone out of the index.
func (l *Library) dropGone(ctx context.Context, x *textindex.Index, stamps map[string]string) error {
	if l.o.Tenant != "" || len(stamps) == 0 { // those of other tenants are not listed
		return nil
	}
	all, err := l.all(ctx, "")
	if err != nil {
		return err
	}
	gone := maps.Clone(stamps)
	for _, info := range all {
		delete(gone, info.ID)
	}
	return x.Drop(ctx, slices.Collect(maps.Keys(gone))...)
}

// DropGone takes sessions that are gone out of the search index, if there is one.
func (l *Library) DropGone(ctx context.Context) error {
	if _, err := os.Stat(l.o.Index); err != nil {
		return nil
	}
	x, err := textindex.Open(ctx, l.o.Index)
	if err == nil {
		var stamps map[string]string
		if stamps, err = x.Stamps(ctx); err == nil {
			err = l.dropGone(ctx, x, stamps)
		}
		err = errors.Join(err, x.Close())
	}
	if textindex.IsDamaged(err) {
		return textindex.Remove(l.o.Index)
	}
	return err
}

// indexed reads a session for the index.
func (l *Library) indexed(ctx context.Context, info Info) (*textindex.Session, error) {
	in := l.aside(info)
	key, err := in.Bring(ctx, info)
	if err != nil {
		return nil, err
	}
	opened, err := in.session(ctx, key)
	if err != nil {
		return nil, err
	}
	var s textindex.Session
	if s.Messages, err = inside.Of(opened).Blocks(ctx, s.Add); err != nil {
		return nil, err
	}
	if info, err = in.about(ctx, info); err == nil {
		s.About, err = json.Marshal(info)
	}
	return &s, err
}

// What is read of the index for one query: pages in all, but at least some of each session, of which those that
// fit best are ranked.
const mostPages, rankedPages = 500, 4

// place is where a session has some of the words.
type place struct {
	session int // in the list
	in      *textindex.Found
	blocks  []*finder.Block
	fit     int
}

// answer adds what the index has for a query to what was found in each session. Unless any is set, sessions
// that have only some of the words are counted, if others have all.
func (s *indexSearch) answer(ctx context.Context, q string, any bool, to []Found) error {
	words, asked := WordsOf(q), query.Read(q)
	found, err := s.x.Find(ctx, words)
	if err != nil {
		return err
	}
	if len(words) == 0 || asked.Bare || asked.Narrow.After != "" {
		return s.open(ctx, q, found, to)
	}
	var places []place
	for i, info := range s.list {
		if f := found[info.ID]; f != nil {
			p, err := s.place(ctx, asked, words, f, mostPages/len(found))
			if err != nil {
				return err
			}
			if p.session = i; p.fit > 0 { // else the query looks elsewhere
				places = append(places, p)
			}
		}
	}
	all := func(p place) bool { return words.all(p.fit) }
	if !any && slices.ContainsFunc(places, all) {
		n := len(places)
		places = slices.DeleteFunc(places, func(p place) bool { return !all(p) })
		if !s.r.Strict {
			s.out.Some += n - len(places)
		}
	}
	r, count := s.r, Roughly().Tokens.CountText
	if r.Budget < 0 {
		r.Hits *= 3 // those with all words may not be the first
	}
	for _, p := range places {
		a := finder.Rank(p.blocks, p.in.Messages, q, r, pleat.UnfoldCall, count)
		if len(a.Hits) == 0 {
			continue
		}
		about := s.list[p.session]
		if err := json.Unmarshal(p.in.About, &about); err != nil {
			return err
		}
		about.Name = s.list[p.session].Name // which depends on the others
		to[p.session].add(about, a)
	}
	return nil
}

func (f *Found) add(about Info, answers ...recall.SearchAnswer) {
	f.Info, f.Result.Answers = about, append(f.Result.Answers, answers...)
}

// place reads the pages of a session that have most of the words, and keeps those that fit best.
func (s *indexSearch) place(
	ctx context.Context, asked *query.Query, words Words, f *textindex.Found, most int,
) (place, error) {
	type page struct {
		blocks []*finder.Block
		fit    int
	}
	var pages []page
	textindex.Newest(f.Pages)
	for i, p := range f.Pages {
		if i >= rankedPages && (i >= most || p.Has < f.Pages[0].Has) {
			break
		}
		list, err := s.x.Read(ctx, p)
		if err != nil {
			return place{}, err
		}
		var now page
		for _, c := range list {
			b := &finder.Block{Text: c.Text}
			if low := strings.ToLower(c.Text); words.in(low) > 0 {
				if b, err = c.Block(); err != nil {
					return place{}, err
				}
				if b.Admitted(&asked.Narrow) {
					now.fit = max(now.fit, words.best(low, now.fit))
				}
			}
			now.blocks = append(now.blocks, b)
		}
		pages = append(pages, now)
	}
	slices.SortStableFunc(pages, func(a, b page) int { return cmp.Compare(b.fit, a.fit) })
	out := place{in: f, fit: pages[0].fit}
	for _, p := range pages[:min(len(pages), rankedPages)] {
		out.blocks = append(out.blocks, p.blocks...)
	}
	return out, nil
}

// open asks the sessions themselves, of those found: the index does not know what comes after what.
func (s *indexSearch) open(
	ctx context.Context, q string, found map[string]*textindex.Found, to []Found,
) error {
	r := s.r
	r.Queries = []string{q}
	for i, info := range s.list {
		var in Results
		if found[info.ID] != nil {
			_ = s.l.searchIn(ctx, info, r, &in) // one of the problems, if it fails
		}
		for _, f := range in.Found {
			to[i].add(f.Info, f.Result.Answers...)
		}
		s.out.Problems = append(s.out.Problems, in.Problems...)
	}
	return ctx.Err()
}
