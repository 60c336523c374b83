package page

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// keyLine is a line that may be picked: a sentence of the assistant that concludes, decides
// or gives a reason, or a line of a file or output with names that are needed again.
type keyLine struct {
	src, line int     // source, and line of it
	base      float32 // what it says is worth
	scale     float32 // of what its names are worth
	group     string
	picked    bool
}

// picker picks key lines greedily, by what a line adds to the page for each token, until the
// room is used. What a line adds can only shrink while others are picked, so a line is
// weighed again only when it comes to the top.
type picker struct {
	in      *Input
	srcs    []source
	needs   *needs
	list    []keyLine
	covered map[uint64]bool  // names and words that the page tells
	seen    map[uint64]bool  // lines that the page or the newest turns show
	plain   int              // tokens left for lines that are no prose
	share   float32          // tokens of one source after which more of it is worth half
	groups  map[string][]int // lines by origin
	open    map[string]bool  // origins that have a heading on the page
}

func newPicker(in *Input) *picker {
	p := &picker{
		in: in, srcs: in.sources(), covered: make(map[uint64]bool), seen: make(map[uint64]bool),
		share: 1000, groups: make(map[string][]int), open: make(map[string]bool),
	}
	p.needs = in.needsOf(p.srcs)
	for _, text := range in.elsewhere {
		p.saw(text)
	}
	for _, text := range in.tail() {
		p.saw(text)
	}
	for _, a := range text.AppendAnchors(nil, in.named) {
		p.covered[a.Hash] = true
	}
	for k := len(p.srcs) - 1; k >= 0; k-- { // of equal lines the newest counts
		switch kind := p.srcs[k].kind; {
		case kind.prose():
			p.addProse(k)
		case !kind.change():
			p.addLines(k)
		}
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

// fresh reports whether a line is not seen yet, and notes it.
func (p *picker) fresh(h uint64) bool {
	if h == 0 {
		return true
	}
	old := p.seen[h]
	p.seen[h] = true
	return !old
}

func (p *picker) add(c keyLine) {
	c.group = p.srcs[c.src].group()
	p.groups[c.group] = append(p.groups[c.group], len(p.list))
	p.list = append(p.list, c)
}

// gain returns what a line adds to the page: what it says, as far as its words are new, and
// the names that are new.
func (p *picker) gain(c *keyLine) float32 {
	s := &p.srcs[c.src]
	words, names := s.wordsOf(c.line), s.namesOf(c.line)
	g := c.base
	if len(words) > 0 {
		fresh := 0
		for _, h := range words {
			if !p.covered[h] {
				fresh++
			}
		}
		g *= float32(fresh) / float32(len(words))
	}
	sum, old := float32(0), 0
	for _, h := range names {
		if !p.covered[h] {
			sum += p.needs.of(h)
		} else {
			old++
		}
	}
	if old > 0 && old == len(names) && len(words) == 0 {
		g *= 0.1 // a bare list of what is named elsewhere
	}
	if n := len(names); n > fullNames { // a row of data is not worth more for being long
		sum *= fullNames / float32(n)
	}
	return (g + sum*c.scale) / (1 + s.taken/p.share) // the more of a source is shown, the less more helps
}

// fullNames is the number of names in a line that count in full.
const fullNames = 5

// headingTokens is about what the heading of a group takes.
const headingTokens = 14

// cost estimates the tokens that a line takes; the first of its group takes the heading
// along, half of which it is charged with.
func (p *picker) cost(c *keyLine) float32 {
	l := &p.srcs[c.src].lines[c.line]
	n := float32(min(l.end-l.start, maxShown))/3.8 + 2
	if !p.open[c.group] {
		n += headingTokens / 2
	}
	return n
}

// pick chooses lines of at most room tokens together; size counts what a line takes on
// the page, with all that has to be shown with it. It returns the chosen lines.
func (p *picker) pick(room int, size func(c *keyLine) int) []int {
	p.share = float32(room) / 5
	h := make(ratioHeap, len(p.list))
	for i := range p.list {
		h[i] = rated{p.gain(&p.list[i]) / p.cost(&p.list[i]), i}
	}
	heap.Init(&h)
	var picked []int
	for misses := 0; len(h) > 0 && misses < maxMisses; {
		i := h[0].line
		c := &p.list[i]
		if now := p.gain(c) / p.cost(c); now < h[0].ratio*0.999 && !c.picked {
			h[0].ratio = now
			heap.Fix(&h, 0)
			continue
		}
		top := heap.Pop(&h).(rated)
		if c.picked {
			continue
		}
		if top.ratio <= leastRatio {
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
		c.picked = true
		picked = append(picked, i)
		p.take(c, n)
		if !p.open[c.group] { // the others of the group are cheaper now
			p.open[c.group] = true
			for _, k := range p.groups[c.group] {
				heap.Push(&h, rated{p.gain(&p.list[k]) / p.cost(&p.list[k]), k})
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
	s.taken += float32(tokens)
	for _, h := range slices.Concat(s.namesOf(c.line), s.wordsOf(c.line)) {
		p.covered[h] = true
	}
}

// rated is a line with what it added for each token when it was last weighed.
type rated struct {
	ratio float32
	line  int
}

// ratioHeap has the best line on top.
type ratioHeap []rated

func (h ratioHeap) Len() int { return len(h) }

func (h ratioHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].ratio, h[i].ratio), h[i].line-h[j].line) < 0
}
func (h ratioHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ratioHeap) Push(x any)   { *h = append(*h, x.(rated)) }
func (h *ratioHeap) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	*h = (*h)[:n]
	return x
}
