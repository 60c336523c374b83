package recall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// found makes what can be shown of a candidate: its lines with those around them.
func (x *searcher) found(c candidate) foundPlace {
	bf := &x.s.Facts[c.ref.Message].Blocks[c.ref.Block]
	handle := bf.Name.String()
	p := foundPlace{hit: SearchHit{Source: x.s.source(transcript.Place{Start: c.ref.Message, End: c.ref.Message + 1, Block: c.ref.Block}, handle), Score: c.score, Same: c.same}}
	t := linesOf(x.text(c.ref))
	best := x.bestLine(&c)
	match := func(i int) bool {
		return i >= c.from && i < c.to && best > 0 && x.lineValue(&c, i-c.from) >= best/2
	}
	from, to := max(c.from-x.r.Around, 0), min(c.to+x.r.Around, t.len())
	for i := from; i < to; i++ {
		cuts := []cut{t.opening(i)}
		if start, end := t.span(i); end-start > wideLine && i >= c.from && i < c.to {
			cuts = x.wide(t, i, c)
		}
		for _, k := range cuts {
			k.match = match(i)
			l := t.line(k)
			p.forms[0] = append(p.forms[0], l)
			if k.match || match(i-1) || match(i+1) {
				p.forms[1] = append(p.forms[1], l)
			}
			if k.match {
				p.forms[2] = append(p.forms[2], l)
			}
		}
	}
	p.call = x.s.Call.with(handle, fmt.Sprintf(`lines="%s"`, writeRange(from+1, to)))
	if c.to-c.from == 1 && len(p.forms[0]) > 0 && !p.forms[0][0].whole() {
		p.call = x.s.Call.with(handle, fmt.Sprintf(`lines="%d"`, c.from+1), fmt.Sprintf("column=%d", c.start-t.starts[c.from]+1))
	}
	return p
}

// wide is what is shown of a long line: what is around those of the query's words that
// tell most, as far as the window reaches.
func (x *searcher) wide(t textLines, i int, c candidate) []cut {
	w := t.whole(i)
	start, end := t.boundary(max(w.from, c.start)), t.boundary(min(w.to, c.end))
	var places [][]int
	low := lowerASCII(t.text[start:end])
	rarest := 0.0
	for k, n := range c.has {
		if n > 0 {
			rarest = max(rarest, x.rarity[k])
		}
	}
	for word, k := range x.index {
		if c.has[k] == 0 || x.rarity[k] < rarest/2 {
			continue
		}
		for at := 0; ; {
			n := strings.Index(low[at:], word)
			if n < 0 {
				break
			}
			places = append(places, []int{at + n, at + n + len(word)})
			at += n + len(word)
		}
	}
	if len(places) == 0 { // other letters than ASCII: the window itself
		return []cut{{line: i, from: start, to: end}}
	}
	slices.SortFunc(places, func(a, b []int) int { return a[0] - b[0] })
	return t.around(w, places, start)
}

// lowerASCII keeps the length of the text.
func lowerASCII(s string) string {
	low := []byte(s)
	for i, c := range low {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return string(low)
}
