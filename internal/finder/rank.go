package finder

import (
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// searchCandidates is how many windows a store is asked for: enough to skip repeats and
// echoes, and to see which words tell the windows apart.
const (
	searchCandidates = 120
	narrowCandidates = 1_500 // where many are passed over because the query narrows
	mostPlaces       = 48
)

// A store ranks each window by itself. Here the best of them are ranked against each other.
// Each of these rules made searches find more of the facts that agents use later:
//
//   - A word that most candidates have does not tell them apart, so rarity is counted
//     among the candidates too.
//   - Six hits that have the same words answer one question. A word that an earlier hit
//     has counts for less in the next.
//   - Words together in one line mean more than words scattered over twelve.
//   - What a result is a result of (the file that was read, the command) is not in its
//     lines, but questions name it.
//   - The same lines, seen several times, are one hit: the newest.
//   - Commands and thinking have the words of a question; what answers it is rather in
//     results, and in calls that change files. What only says that a change was made is no
//     answer, and what was made stale comes after what holds.
//   - Words that stand next to each other in the query and in a line are a phrase.
const (
	storeWeight   = 2    // how much the store's score counts, against rarity among the candidates
	heardBefore   = 0.9  // how much a word still counts for each earlier hit that has it
	lineWeight    = 0.25 // how much the best line counts by itself
	contextWeight = 0.5  // how much a word of the call counts, against one in the lines
	visibleWeight = 0.5  // what the model can see anyway comes after what it cannot
	askingWeight  = 0.7  // commands and thinking come after what was found out
	staleWeight   = 0.9  // results that were superseded
	recentWeight  = 0.1  // how much more the newest counts than the oldest
	phraseWeight  = 0.5  // how much two words count again that are next to each other
	unquoted      = 0.2  // places without a phrase that was quoted
)

// searcher turns windows into places for one query.
type searcher struct {
	r recall.SearchRequest
	*query.Query
	messages int  // in the conversation
	folded   bool // what is visible comes last
	call     Call
	rarity   []float64 // of each word, among the candidates

	s       *Finder // nil: blocks are all there is
	asked   string  // the query as it came
	layouts map[int][]spot
	blocks  map[transcript.BlockRef]*Block
}

// candidate is a part of a window that lies in one block.
type candidate struct {
	of         *Block
	from, to   int     // lines of the block, counted from 0
	start, end int     // bytes of the block
	score      float64 // the store's
	words      int
	has        []int // how often it has each word of the query
	lines      []lineWords
	value      []float64 // what each word of the query adds
	bonus      float64   // what its best line and the words of its call add
	weight     float64   // of its place in the conversation
	same       int       // how many others show the same
}

// lineWords is what a line has of the query.
type lineWords struct {
	has   []int // words
	pairs []int // words that follow the one that they follow in the query
}

func newSearcher(s *Finder, r recall.SearchRequest, asked string) *searcher {
	return &searcher{
		r: r, Query: query.Read(asked), messages: len(s.Facts()), folded: s.Shown != nil, call: s.Call,
		s: s, asked: asked, layouts: make(map[int][]spot), blocks: make(map[transcript.BlockRef]*Block),
	}
}

func (x *searcher) rank(list []candidate) []foundPlace {
	x.weigh(list)
	list = x.distinct(list)
	var out []foundPlace
	for _, c := range x.pick(list) {
		out = append(out, x.found(c))
	}
	return out
}

func (x *searcher) count(c *candidate) {
	c.has = make([]int, len(x.Words))
	for line := range strings.Lines(c.text()) {
		var l lineWords
		last := -1
		for w := range search.Words(line) {
			c.words++
			k, ok := x.Index[w]
			if !ok {
				last = -1
				continue
			}
			if c.has[k]++; !slices.Contains(l.has, k) {
				l.has = append(l.has, k)
			}
			if last >= 0 && k == last+1 && !slices.Contains(l.pairs, k) {
				l.pairs = append(l.pairs, k)
			}
			last = k
		}
		c.lines = append(c.lines, l)
	}
}

func (c *candidate) text() string { return c.of.Text[c.start:c.end] }

// block is a block of the conversation, whose text may have to be decoded first.
func (x *searcher) block(ref transcript.BlockRef) *Block {
	b := x.blocks[ref]
	if b == nil {
		b = x.s.blockAt(ref)
		x.blocks[ref] = b
	}
	return b
}

// weigh sets what the words of the query are worth in each candidate: a mean of the store's
// score, whatever its scale, and of BM25 among the candidates.
func (x *searcher) weigh(list []candidate) {
	holding := make([]int, len(x.Words))
	total := 0
	for _, c := range list {
		total += c.words
		for k, n := range c.has {
			if n > 0 {
				holding[k]++
			}
		}
	}
	x.rarity = make([]float64, len(x.Words))
	for k, n := range holding {
		x.rarity[k] = math.Log(1 + (float64(len(list)-n)+0.5)/(float64(n)+0.5))
	}
	average := float64(total) / float64(max(len(list), 1))
	sums, own, theirs := make([]float64, len(list)), 0.0, 0.0
	for i := range list {
		c := &list[i]
		c.value = make([]float64, len(x.Words))
		for k, n := range c.has {
			if n > 0 {
				c.value[k] = search.BM25(n, c.words, average, holding[k], len(list))
				sums[i] += c.value[k]
			}
		}
		own, theirs = own+sums[i], theirs+c.score
		c.weight = x.weightOf(c)
		c.bonus = lineWeight*x.bestLine(c) + contextWeight*x.contextOf(c.of)
	}
	for i := range list {
		c := &list[i]
		for k := range c.value {
			if sums[i] > 0 && theirs > 0 {
				c.value[k] *= (1 + storeWeight*c.score/sums[i]*own/theirs) / (1 + storeWeight)
			}
		}
	}
}

// bestLine is the value of the line that has most to do with the query.
func (x *searcher) bestLine(c *candidate) float64 {
	best := 0.0
	for i := range c.lines {
		best = max(best, x.lineValue(c, i))
	}
	return best
}

// lineValue is what line i of a candidate has to do with the query.
func (x *searcher) lineValue(c *candidate, i int) float64 {
	v := 0.0
	for _, k := range c.lines[i].has {
		v += x.rarity[k]
	}
	for _, k := range c.lines[i].pairs {
		v += phraseWeight * (x.rarity[k-1] + x.rarity[k])
	}
	return v
}

// contextOf is what the words add that say what a call or its result is about.
func (x *searcher) contextOf(b *Block) float64 {
	if b.Entry == nil {
		return 0
	}
	sum := 0.0
	seen := make([]bool, len(x.Words))
	for w := range search.Words(b.Entry.Args) {
		if k, ok := x.Index[w]; ok && !seen[k] {
			seen[k] = true
			sum += x.rarity[k]
		}
	}
	return sum
}

// distinct keeps the newest of the candidates that show the same.
func (x *searcher) distinct(list []candidate) []candidate {
	newest := make(map[string]int) // by what is shown, place in out
	var out []candidate
	for _, c := range list {
		key := plainLines(c.text())
		at, seen := newest[key]
		switch {
		case !seen:
			newest[key] = len(out)
			out = append(out, c)
		case out[at].of.Message < c.of.Message:
			c.same = out[at].same + 1
			out[at] = c
		default:
			out[at].same++
		}
	}
	return out
}

// plainLines is a text without what tools put before lines: numbers, diff marks, blanks.
func plainLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimSpace(strings.TrimLeft(line, " \t0123456789→|:-+")))
		b.WriteByte('\n')
	}
	return b.String()
}

// pick chooses the best candidates one after the other. Windows that overlap with one
// that is chosen are passed over.
func (x *searcher) pick(list []candidate) []candidate {
	var out []candidate
	sources := make(map[*Block]bool)
	worth := slices.Repeat([]float64{1}, len(x.Words)) // of a word, after the hits so far
	for {
		best, at := 0.0, -1
		for i := range list {
			if v := x.worthOf(&list[i], worth); v > best {
				best, at = v, i
			}
		}
		if at < 0 {
			break
		}
		c := list[at]
		c.score = best
		list = slices.Delete(list, at, at+1)
		if slices.ContainsFunc(out, c.overlaps) || len(sources) == x.r.Hits && !sources[c.of] {
			continue
		}
		if sources[c.of] = true; len(out) == mostPlaces {
			break
		}
		for k, n := range c.has {
			if n > 0 {
				worth[k] *= heardBefore
			}
		}
		out = append(out, c)
	}
	return out
}

func (x *searcher) worthOf(c *candidate, worth []float64) float64 {
	v := c.bonus
	for k, value := range c.value {
		v += value * worth[k]
	}
	return v * c.weight
}

// weightOf is what the place of a candidate in the conversation makes it count.
func (x *searcher) weightOf(c *candidate) float64 {
	weight := 1 + recentWeight*float64(c.of.Message-1)/float64(x.messages)
	if x.folded && c.of.Visible {
		weight *= visibleWeight
	}
	switch {
	case x.hasQuoted(c):
	case x.r.Strict:
		return 0
	default: // models quote what they look for, and much that is no phrase
		weight *= unquoted
	}
	asks := c.of.Kind == transcript.KindToolCall || c.of.Kind == transcript.KindThinking
	if e := c.of.Entry; e != nil {
		asks = asks && !(ledger.IsFileCall(e) && e.Effective()) // a change tells what it did
		if e.SupersededBy > 0 && c.of.Kind == transcript.KindToolResult {
			weight *= staleWeight
		}
	}
	if asks {
		weight *= askingWeight
	}
	return weight
}

// hasQuoted reports whether a line has all phrases that the query has in quotes.
func (x *searcher) hasQuoted(c *candidate) bool {
	for _, k := range x.Quoted {
		if !slices.ContainsFunc(c.lines, func(l lineWords) bool { return slices.Contains(l.pairs, k) }) {
			return false
		}
	}
	return true
}

// maxReceipt is how long a result can be, in bytes, that only says that a change was made.
const maxReceipt = 200

// isReceipt reports whether a block only says that a change was made. The call has the change.
func (f *Finder) isReceipt(bf *transcript.BlockFacts) bool {
	if bf.Kind != transcript.KindToolResult || bf.Call == 0 || bf.Bytes > maxReceipt {
		return false
	}
	e := f.Ledger().Entry(int(bf.Call))
	return ledger.IsFileCall(&e) && e.Outcome == toolcall.Succeeded
}

func (c candidate) overlaps(o candidate) bool {
	return c.of == o.of && c.start < o.end && o.start < c.end
}
