package finder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// An Asker searches a store for words, which are those of a query and other forms of them, and
// returns at most n hits.
type Asker = func(query, words string, n int) ([]store.Hit, error)

// Search finds the best places for each query. For a query that finds nothing it
// reads the whole conversation for words that are nearly those of the query.
func (f *Finder) Search(ctx context.Context, r recall.SearchRequest, ask Asker) (recall.SearchResult, error) {
	f = f.reading(ctx)
	r = withDefaults(r)
	var res recall.SearchResult
	budget := r.Budget
	for i, q := range r.Queries {
		x := newSearcher(f, r, q)
		a, room := answer{recall.SearchAnswer{Query: q, Prefix: f.Call.prefix()}}, math.MaxInt
		places, err := x.places(ask)
		if err == nil && len(places) == 0 {
			a.Near, err = x.nearIfNone(ctx)
		}
		if a.Near != "" {
			x = newSearcher(f, r, a.Near)
			places, err = x.places(ask)
		}
		if err = cmp.Or(f.read.Err, err); err != nil {
			return recall.SearchResult{}, fmt.Errorf("search %q: %w", text.Clip(q, 80), err)
		}
		if r.Budget >= 0 {
			room = budget / (len(r.Queries) - i) // what one answer leaves is the next one's
		}
		budget -= a.lay(places, room, f.Tokens().CountText)
		res.Answers = append(res.Answers, a.SearchAnswer)
	}
	return res, nil
}

func withDefaults(r recall.SearchRequest) recall.SearchRequest {
	r.Hits = cmp.Or(max(r.Hits, 0), 24)
	r.Around = max(cmp.Or(r.Around, 2), 0)
	r.Budget = cmp.Or(r.Budget, 2_500)
	return r
}

// places asks for windows and ranks what they hold.
func (x *searcher) places(ask Asker) ([]foundPlace, error) {
	hits, err := ask(x.asked, x.Asked, x.candidates())
	var list []candidate
	for _, h := range hits {
		list = append(list, x.split(h)...)
	}
	found := x.rank(list)
	if err == nil && len(found) == 0 && x.Bare {
		found = x.newest()
	}
	return found, err
}

// candidates is how many windows are ranked.
func (x *searcher) candidates() int {
	if x.Narrows() {
		return narrowCandidates
	}
	return searchCandidates
}

// newest shows the beginnings of the newest blocks that a query without words admits.
func (x *searcher) newest() []foundPlace {
	var list []candidate
	for i := len(x.s.Facts()) - 1; i >= x.s.Facts().Prompt() && len(list) < mostPlaces; i-- {
		for b := range x.s.Facts()[i].Blocks {
			bf, ref := &x.s.Facts()[i].Blocks[b], transcript.BlockRef{Message: i, Block: b}
			asks := bf.Kind == transcript.KindToolCall && x.Narrow.Tool != "" // its result tells more
			if asks || bf.Handle == 0 || !x.s.admits(&x.Narrow, ref, bf) {
				continue
			}
			of := x.block(ref)
			t := linesOf(of.Text)
			c := candidate{of: of, to: min(t.len(), firstLines), score: 1}
			if c.to == 0 {
				continue
			}
			_, c.end = t.span(c.to - 1)
			x.count(&c)
			list = append(list, c)
		}
	}
	x.weigh(list)
	var out []foundPlace
	for _, c := range list {
		out = append(out, x.found(c))
	}
	return out
}

// firstLines is how many lines are shown of what no words were asked for.
const firstLines = 6

// nearIfNone returns words to look for instead of those that nothing has, empty if there is
// no reason to. A query that does not narrow finds nothing although the store has windows only
// if these are echoes, such as the question that is being answered.
func (x *searcher) nearIfNone(ctx context.Context) (string, error) {
	if x.r.Strict || !x.Guesses() {
		return "", nil
	}
	near, err := x.s.nearWords(ctx, x.Words)
	return strings.Join(near, " "), err
}

// split finds the blocks that a window covers.
func (x *searcher) split(h store.Hit) []candidate {
	// The model has the system prompt before it anyway: it is of the client that began the session, and
	// another one with the same first words may have continued it.
	i, ok := x.s.MessageAt(h.Seq)
	if !ok || i < x.s.Facts().Prompt() {
		return nil
	}
	if x.Narrows() && !x.admitsAny(i) {
		return nil
	}
	var out []candidate
	for b, at := range x.layoutOf(i) {
		bf, ref := &x.s.Facts()[i].Blocks[b], transcript.BlockRef{Message: i, Block: b}
		outside := h.End <= at.start || h.Start >= at.start+at.bytes
		if outside || at.damaged || bf.Handle == 0 || x.s.isEcho(bf) || x.s.isReceipt(bf) ||
			!x.s.admits(&x.Narrow, ref, bf) {
			continue
		}
		c := candidate{
			of: x.block(ref), score: h.Score,
			from: max(h.From-at.line, 0), to: min(h.To-at.line, at.lines),
			start: max(h.Start-at.start, 0), end: min(h.End-at.start, at.bytes),
		}
		if x.count(&c); c.from < c.to && c.start < c.end {
			out = append(out, c)
		}
	}
	return out
}

// admitsAny reports whether the query looks in any block of message i.
func (x *searcher) admitsAny(i int) bool {
	for b := range x.s.Facts()[i].Blocks {
		if x.s.admits(&x.Narrow, transcript.BlockRef{Message: i, Block: b}, &x.s.Facts()[i].Blocks[b]) {
			return true
		}
	}
	return false
}

// spot is where a block is in the text that its message is found by.
type spot struct {
	line, start  int
	lines, bytes int
	damaged      bool // what is there is only a stand-in for the block
}

// layoutOf returns where the blocks of a message are in the text that it is found by.
func (x *searcher) layoutOf(i int) []spot {
	if known, ok := x.layouts[i]; ok {
		return known
	}
	var spots []spot
	var at spot
	for b, block := range x.s.read.Message(i).Blocks().All() {
		txt := x.block(transcript.BlockRef{Message: i, Block: b}).Text
		at.lines, at.bytes = text.LineCount(txt), len(txt)
		at.damaged = len(transcript.BlockText(block)) != int(x.s.Facts()[i].Blocks[b].Bytes)
		spots = append(spots, at)
		at.line += at.lines
		at.start += at.bytes
		if txt != "" && !strings.HasSuffix(txt, "\n") {
			at.start++
		}
	}
	x.layouts[i] = spots
	return spots
}
