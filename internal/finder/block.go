package finder

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// Block is a block of a conversation with all that ranking asks of it. So it can be kept, and ranked
// without its conversation.
type Block struct {
	recall.Source
	Role  transcript.Role
	Kind  transcript.Kind
	Typed bool          `json:",omitempty"` // a person typed it, at least in part
	Entry *ledger.Entry `json:",omitempty"` // calls and results: the call; nil: it is not known
	Text  string        `json:"-"`          // as search finds it
}

// entry is the call that a block is a part of; nil if none is known.
func (f *Finder) entry(bf *transcript.BlockFacts) *ledger.Entry {
	if bf.Call == 0 {
		return nil
	}
	e := f.Ledger().Entry(int(bf.Call))
	return &e
}

func (f *Finder) blockAt(ref transcript.BlockRef) *Block {
	bf := f.Facts().Block(ref)
	at := transcript.Place{Start: ref.Message, End: ref.Message + 1, Block: ref.Block}
	return &Block{
		Source: f.source(at, bf.Handle.String()), Role: f.Facts()[ref.Message].Role, Kind: bf.Kind, Typed: bf.Typed,
		Entry: f.entry(bf), Text: conv.Readable(f.read.Block(ref)),
	}
}

// Blocks gives visit every block that a search can find, in order.
func (f *Finder) Blocks(ctx context.Context, visit func(*Block)) error {
	f = f.reading(ctx)
	for i := f.Facts().Prompt(); i < len(f.Facts()) && ctx.Err() == nil && f.read.Err == nil; i++ {
		for b := range f.Facts()[i].Blocks {
			bf := &f.Facts()[i].Blocks[b]
			if bf.Handle != 0 && !f.isEcho(bf) && !f.isReceipt(bf) {
				visit(f.blockAt(transcript.BlockRef{Message: i, Block: b}))
			}
		}
	}
	if f.read.Err != nil {
		return f.read.Err
	}
	return ctx.Err()
}

// Admitted reports whether a query that narrows looks in the block, wherever it is.
func (b *Block) Admitted(n *query.Narrowing) bool {
	if n.File != "" || n.Tool != "" {
		calls := ledger.Filter{Path: n.File, Tool: n.Tool}
		if b.Entry == nil || !calls.Matches(b.Entry) {
			return false
		}
	}
	switch n.By {
	case "":
		return true
	case "user":
		return b.Typed
	case "tool":
		return b.Kind == transcript.KindToolResult
	}
	return string(b.Role) == n.By
}

// Rank answers a query from blocks of a conversation of so many messages, as [Finder.Search] does from
// all of it. What the query is to come after is not looked at. Of blocks that have none of the words only the
// text is needed, which tells how rare the words are.
func Rank(
	blocks []*Block, messages int, q string, r recall.SearchRequest, call Call, count func(string) int,
) recall.SearchAnswer {
	x := &searcher{r: withDefaults(r), Query: query.Read(q), messages: messages, call: call}
	list := x.scan(blocks)
	list = slices.DeleteFunc(list, func(c candidate) bool { return !c.of.Admitted(&x.Narrow) })
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	room := r.Budget
	if room < 0 {
		room = math.MaxInt
	}
	a := answer{recall.SearchAnswer{Query: q, Prefix: call.prefix()}}
	a.lay(x.rank(list[:min(len(list), x.candidates())]), room, count)
	return a.SearchAnswer
}

// scan scores the windows of blocks as a store does, but for their mean length, which is that of the windows with
// words, and for other forms of a word, which count as the word: windows without words are not split into theirs.
func (x *searcher) scan(blocks []*Block) (list []candidate) {
	all, length, holding := 0, 0, make([]int, len(x.Words))
	for _, b := range blocks {
		for w := range search.Windows(b.Text) {
			all++
			if !x.mayBeIn(w.Text) {
				continue
			}
			c := candidate{of: b, from: w.From, to: w.To, start: w.Start, end: w.End}
			x.count(&c)
			for k, n := range c.has {
				if n > 0 {
					holding[k]++
				}
			}
			length += c.words
			list = append(list, c)
		}
	}
	average := float64(length) / float64(max(len(list), 1))
	for i := range list {
		for k, n := range list[i].has {
			if n > 0 {
				list[i].score += search.BM25(n, list[i].words, average, holding[k], all)
			}
		}
	}
	return slices.DeleteFunc(list, func(c candidate) bool { return c.score == 0 })
}

// mayBeIn tells texts that cannot have one of the words from others, much faster than splitting them.
func (x *searcher) mayBeIn(text string) bool {
	low := lowerASCII(text)
	for word := range x.Index {
		isWide := func(r rune) bool { return r >= utf8.RuneSelf }
		if strings.Contains(low, word) || strings.ContainsFunc(word, isWide) {
			return true
		}
	}
	return false
}
