package page

import (
	"container/heap"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// keyLine is a line that may be picked: a sentence of the assistant that concludes, decides
// or gives a reason, or a line of a file or output with names that are needed again.
type keyLine struct {
	src, line int     // source, and line of it
	base      float32 // what it says is worth
	scale     float32 // of what its names are worth
}

// picker picks key lines greedily, by what a line adds to the page for each token, until the
// room is used. What a line adds can only shrink while others are picked, so a line is
// weighed again only when it comes to the top.
type picker struct {
	*pool
	in     *input
	told   map[uint64]bool // names and words that the page has
	seen   map[uint64]bool // lines that the page or the newest turns show
	plain  int             // tokens left for lines that are no prose
	share  float32         // tokens of one source after which more of it is worth half
	picked []bool          // by line
	taken  []float32       // by source: tokens of it that are on the page
	open   []bool          // by group: it has a heading on the page
}

func newPicker(in *input) *picker {
	p := &picker{
		pool: in.candidates(), in: in, share: 1000, told: namesIn(in.named), seen: make(map[uint64]bool),
	}
	p.picked, p.taken, p.open = make([]bool, len(p.list)), make([]float32, len(p.srcs)), make([]bool, len(p.groups))
	for _, text := range in.elsewhere {
		p.saw(text)
	}
	for text := range in.tail() {
		p.saw(text)
	}
	_, words := text.CueScore(in.told, nil)
	for _, h := range words {
		p.told[h] = true
	}
	return p
}

// saw notes lines that need not be shown again.
func (p *picker) saw(txt string) {
	for line := range strings.Lines(txt) {
		if h := text.LineHash(strings.TrimRight(line, "\r\n")); h != 0 {
			p.seen[h] = true
		}
	}
}

// shown reports whether the page or the newest turns show a line.
func (p *picker) shown(c *keyLine) bool { return p.seen[p.srcs[c.src].lines[c.line].hash] }

// ratio is what a line adds to the page now for each token.
func (p *picker) ratio(c *keyLine) float32 {
	more := 1 + p.taken[c.src]/p.share // the more of a source is shown, the less more helps
	return p.gain(c) / more / p.cost(c, p.open[p.srcs[c.src].group])
}

// gain returns what a line adds to the page: what it says, as far as its words are new, and the
// names that are new.
func (p *picker) gain(c *keyLine) float32 {
	s := &p.srcs[c.src]
	words, names := s.wordsOf(c.line), s.namesOf(c.line)
	g := c.base
	if len(words) > 0 {
		fresh := 0
		for _, h := range words {
			if !p.told[h] {
				fresh++
			}
		}
		g *= float32(fresh) / float32(len(words))
	}
	sum, old := float32(0), 0
	for _, h := range names {
		if p.told[h] {
			old++
		} else {
			sum += p.needs.of(h)
		}
	}
	if old > 0 && old == len(names) && len(words) == 0 {
		g *= 0.1 // a bare list of what is named elsewhere
	}
	if n := len(names); n > fullNames { // a row of data is not worth more for being long
		sum *= fullNames / float32(n)
	}
	return g + sum*c.scale
}

// fullNames is the number of names in a line that count in full.
const fullNames = 5

// headingTokens is about what the heading of a group takes.
const headingTokens = 14

// cost estimates the tokens that a line takes; the first of its group takes the heading
// along, half of which it is charged with.
func (p *pool) cost(c *keyLine, open bool) float32 {
	l := &p.srcs[c.src].lines[c.line]
	n := float32(min(l.end-l.start, maxShown))/3.8 + 2
	if !open {
		n += headingTokens / 2
	}
	return n
}

// tooLong reports whether there is surely no room for a plain line any more. When that room is
// used, most lines are still to come.
func (p *picker) tooLong(c *keyLine) bool {
	s := &p.srcs[c.src]
	l := &s.lines[c.line]
	if p.plain > fewTokens || s.kind.prose() || l.end-l.start > maxShown {
		return false
	}
	if l.tokens == 0 {
		l.tokens = int32(p.in.count(p.text(c.src)[l.start:l.end]))
	}
	return int(l.tokens)+2 > p.plain
}

// fewTokens is about what a line takes.
const fewTokens = 60

// text is the text of source k.
func (p *picker) text(k int) string { return p.in.text(&p.srcs[k]) }

// pick chooses lines of at most room tokens together; size counts what a line takes on
// the page, with all that has to be shown with it. It returns the chosen lines.
func (p *picker) pick(room int, size func(c *keyLine) int) []int {
	p.share = float32(room) / 5
	h := make(ratioHeap, 0, len(p.list))
	for i := range p.list {
		if c := &p.list[i]; !p.shown(c) {
			h = append(h, rated{p.ratio(c), i})
		}
	}
	heap.Init(&h)
	var picked []int
	for misses := 0; len(h) > 0 && misses < maxMisses; {
		top := &h[0]
		c := &p.list[top.line]
		if now := p.ratio(c); now < top.ratio*0.999 && !p.picked[top.line] {
			top.ratio = now
			heap.Fix(&h, 0)
			continue
		}
		best := heap.Pop(&h).(rated)
		if p.picked[best.line] || p.tooLong(c) {
			continue
		}
		if best.ratio <= leastRatio {
			break
		}
		n := size(c)
		if !p.srcs[c.src].kind.prose() {
			if n > p.plain {
				continue
			}
			p.plain -= n
		}
		if n > room {
			misses++
			continue
		}
		room -= n
		p.picked[best.line] = true
		picked = append(picked, best.line)
		p.take(c, n)
		if group := p.srcs[c.src].group; !p.open[group] { // the others of the group are cheaper now
			p.open[group] = true
			for _, k := range p.groups[group] {
				if o := &p.list[k]; !p.shown(o) {
					heap.Push(&h, rated{p.ratio(o), k})
				}
			}
		}
	}
	return picked
}

const (
	maxMisses  = 40    // lines that did not fit before picking ends
	leastRatio = 0.002 // what adds less for a token is noise
)

// take notes the names and words of a picked line.
func (p *picker) take(c *keyLine, tokens int) {
	s := &p.srcs[c.src]
	p.taken[c.src] += float32(tokens)
	for _, list := range [][]uint64{s.namesOf(c.line), s.wordsOf(c.line)} {
		for _, h := range list {
			p.told[h] = true
		}
	}
}

// rated is a line with what it added for each token when it was last weighed.
type rated struct {
	ratio float32
	line  int
}

// ratioHeap has the best line on top.
type ratioHeap []rated

func (h ratioHeap) Len() int      { return len(h) }
func (h ratioHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ratioHeap) Push(x any)   { *h = append(*h, x.(rated)) }

func (h ratioHeap) Less(i, j int) bool {
	return h[i].ratio > h[j].ratio || h[i].ratio == h[j].ratio && h[i].line < h[j].line
}

func (h *ratioHeap) Pop() any {
	n := len(*h) - 1
	last := (*h)[n]
	*h = (*h)[:n]
	return last
}
