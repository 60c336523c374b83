package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// searchCandidates is how many windows a store is asked for: enough to skip repeats and
// echoes, and to see which words tell the windows apart.
const searchCandidates = 120

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
//   - Calls and thinking have the words of a question; what answers it is rather in
//     results.
const (
	storeWeight   = 2    // how much the store's score counts, against rarity among the candidates
	heardBefore   = 0.9  // how much a word still counts for each earlier hit that has it
	lineWeight    = 0.25 // how much the best line counts by itself
	contextWeight = 0.5  // how much a word of the call counts, against one in the lines
	visibleWeight = 0.5  // what the model can see anyway comes after what it cannot
	askingWeight  = 0.7  // calls and thinking come after what was found out
)

// searcher turns the windows of a store into places for one query.
type searcher struct {
	s *Finder
	r SearchRequest
	recallQuery
	rarity  []float64 // of each word, among the candidates
	layouts map[int]*layout
	texts   map[transcript.BlockRef]string
	whole   map[transcript.BlockRef]bool // calls of which all windows are candidates
}

// candidate is a part of a window that lies in one block.
type candidate struct {
	ref        transcript.BlockRef
	from, to   int     // lines of the block, counted from 0
	start, end int     // bytes of the block
	score      float64 // the store's
	words      int
	has        []int     // how often it has each word of the query
	lines      [][]int   // which words of the query each line has
	value      []float64 // what each word of the query adds
	bonus      float64   // what its best line and the words of its call add
	same       int       // how many others show the same
}

func newSearcher(s *Finder, r SearchRequest, query string) *searcher {
	return &searcher{
		s: s, r: r, recallQuery: readQuery(query), layouts: make(map[int]*layout),
		texts: make(map[transcript.BlockRef]string), whole: make(map[transcript.BlockRef]bool),
	}
}

// rank chooses the places that are shown.
func (x *searcher) rank(places []store.Hit) []foundPlace {
	var list []candidate
	for _, p := range places {
		list = append(list, x.split(p)...)
	}
	x.weigh(list)
	list = x.distinct(list)
	var out []foundPlace
	for _, c := range x.pick(list) {
		out = append(out, x.found(c))
	}
	return out
}

// split finds the blocks that a window covers.
func (x *searcher) split(h store.Hit) []candidate {
	i, ok := x.s.Contents.Find(h.Seq)
	if !ok || x.s.isHead(i) {
		return nil
	}
	l := x.layoutOf(i)
	spots, old := l.spots, l.windows != nil && !l.windows[[2]int{h.Start, h.End}]
	if old {
		spots = l.before
	}
	var out []candidate
	add := func(c candidate) {
		if x.count(&c); c.from < c.to && c.start < c.end {
			out = append(out, c)
		}
	}
	for b, at := range spots {
		bf, ref := &x.s.Facts[i].Blocks[b], transcript.BlockRef{Message: i, Block: b}
		if bf.Name == 0 || h.End <= at.start || h.Start >= at.start+at.bytes || at.damaged || x.s.isEcho(bf) {
			continue
		}
		if old && bf.Kind == transcript.KindToolCall {
			if !x.whole[ref] {
				x.whole[ref] = true
				for w := range search.Windows(x.text(ref)) {
					add(candidate{ref: ref, score: h.Score, from: w.From, to: w.To, start: w.Start, end: w.End})
				}
			}
			continue
		}
		add(candidate{
			ref: ref, score: h.Score,
			from: max(h.From-at.line, 0), to: min(h.To-at.line, at.lines),
			start: max(h.Start-at.start, 0), end: min(h.End-at.start, at.bytes),
		})
	}
	return out
}

// spot is where a block is in the text that its message is found by.
type spot struct {
	line, start  int
	lines, bytes int
	damaged      bool // what is there is only a stand-in for the block
}

// layout is how a message is laid out in the text that it is found by. Stores that were
// written before calls were read as text have the JSON of calls in it: then a window is not
// one of those that the text has today.
type layout struct {
	spots, before []spot
	windows       map[[2]int]bool // bytes of the windows; nil: there is no call
}

func (x *searcher) layoutOf(i int) *layout {
	if known, ok := x.layouts[i]; ok {
		return known
	}
	l := &layout{}
	var texts []string
	var now, then spot
	calls := false
	put := func(list *[]spot, at *spot, txt string) {
		at.lines, at.bytes = text.LineCount(txt), len(txt)
		*list = append(*list, *at)
		at.line += at.lines
		at.start += at.bytes
		if txt != "" && !strings.HasSuffix(txt, "\n") {
			at.start++
		}
	}
	for b, block := range x.s.Transcript.At(i).Blocks().All() {
		exact, readable := transcript.BlockText(block), x.text(transcript.BlockRef{Message: i, Block: b})
		now.damaged = len(exact) != int(x.s.Facts[i].Blocks[b].Bytes)
		then.damaged = now.damaged
		put(&l.spots, &now, readable)
		put(&l.before, &then, exact)
		texts = append(texts, readable)
		calls = calls || block.Kind() == transcript.KindToolCall
	}
	if calls {
		l.windows = make(map[[2]int]bool)
		for w := range search.Windows(conv.JoinTexts(texts)) {
			l.windows[[2]int{w.Start, w.End}] = true
		}
	}
	x.layouts[i] = l
	return l
}

// count counts the words of the query in a candidate.
func (x *searcher) count(c *candidate) {
	c.has = make([]int, len(x.words))
	for line := range strings.Lines(x.textOf(c)) {
		var has []int
		for w := range search.Words(line) {
			c.words++
			if k, ok := x.index[w]; ok {
				if c.has[k]++; !slices.Contains(has, k) {
					has = append(has, k)
				}
			}
		}
		c.lines = append(c.lines, has)
	}
}

func (x *searcher) textOf(c *candidate) string { return x.text(c.ref)[c.start:c.end] }

// text is the text of a block, which may have to be decoded first.
func (x *searcher) text(ref transcript.BlockRef) string {
	text, ok := x.texts[ref]
	if !ok {
		text = conv.Readable(x.s.Transcript.Block(ref))
		x.texts[ref] = text
	}
	return text
}

// weigh sets what the words of the query are worth in each candidate: a mean of the store's
// score, whatever its scale, and of BM25 among the candidates.
func (x *searcher) weigh(list []candidate) {
	holding := make([]int, len(x.words))
	total := 0
	for _, c := range list {
		total += c.words
		for k, n := range c.has {
			if n > 0 {
				holding[k]++
			}
		}
	}
	x.rarity = make([]float64, len(x.words))
	for k, n := range holding {
		x.rarity[k] = math.Log(1 + (float64(len(list)-n)+0.5)/(float64(n)+0.5))
	}
	average := float64(total) / float64(max(len(list), 1))
	sums, own, theirs := make([]float64, len(list)), 0.0, 0.0
	for i := range list {
		c := &list[i]
		c.value = make([]float64, len(x.words))
		for k, n := range c.has {
			if n > 0 {
				c.value[k] = search.BM25(n, c.words, average, holding[k], len(list))
				sums[i] += c.value[k]
			}
		}
		own, theirs = own+sums[i], theirs+c.score
		c.bonus = lineWeight*x.bestLine(c) + contextWeight*x.contextOf(c.ref)
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
	for _, k := range c.lines[i] {
		v += x.rarity[k]
	}
	return v
}

// contextOf is what the words add that say what a call or its result is about.
func (x *searcher) contextOf(ref transcript.BlockRef) float64 {
	bf := x.s.FactsOf(ref)
	if bf.Call == 0 {
		return 0
	}
	sum := 0.0
	seen := make([]bool, len(x.words))
	for w := range search.Words(x.s.Ledger.Entry(int(bf.Call)).Args) {
		if k, ok := x.index[w]; ok && !seen[k] {
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
		key := plainLines(x.textOf(&c))
		at, seen := newest[key]
		switch {
		case !seen:
			newest[key] = len(out)
			out = append(out, c)
		case out[at].ref.Message < c.ref.Message:
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
	worth := slices.Repeat([]float64{1}, len(x.words)) // of a word, after the hits so far
	for len(out) < x.r.Hits {
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
		if slices.ContainsFunc(out, c.overlaps) {
			continue
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
	if x.s.Shown != nil && x.s.Shown(c.ref) {
		v *= visibleWeight
	}
	if kind := x.s.FactsOf(c.ref).Kind; kind == transcript.KindToolCall || kind == transcript.KindThinking {
		v *= askingWeight
	}
	return v
}

func (c candidate) overlaps(o candidate) bool {
	return c.ref == o.ref && c.start < o.end && o.start < c.end
}
