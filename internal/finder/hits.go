package finder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/recall"
)

// An answer has little room, and which place has what the model looks for is not known. So
// many places are shown: the strongest with the lines around them, others with the lines that
// match alone, under one short heading for each source. Much weaker places are only counted.
const (
	fullPlaces  = 2    // places that are shown with the lines around them
	fullShare   = 0.6  // of the best score, from which on they are
	weakShare   = 0.17 // below which a place is only counted
	namedPlaces = 3    // of that many best places those without room are named; others are counted
	sameLines   = 0.7  // share of a place's lines that the answer has already, from which on it adds nothing
	footRoom    = 24   // tokens kept to say that something is not shown
	callRoom    = 12   // tokens for naming a place, beside the call
)

// foundPlace is a window that was chosen, in the forms in which it can be shown: with the lines
// around it, and its matches alone.
type foundPlace struct {
	hit   recall.SearchHit // without lines
	forms [2][]recall.Line
	call  string // shows all of it
}

// answer is what was found for a query, while it is put together.
type answer struct{ recall.SearchAnswer }

// lay puts places into the answer, best first, each in the largest form that there is room
// for, and returns how many tokens the answer takes.
func (a *answer) lay(places []foundPlace, room int, count func(string) int) int {
	used := count(a.Heading(len(places))) + footRoom
	known := make(map[string]string) // lines of the answer, with the handle of their source
	shown := 0
	for i := range places {
		p := &places[i]
		if shown > 0 && p.repeats(known) {
			continue
		}
		share := p.hit.Score / places[0].hit.Score
		if share < weakShare {
			a.Left++
			continue
		}
		first := 0
		if shown >= fullPlaces || share < fullShare {
			first = 1
		}
		cost, ok := a.place(p, shown, p.forms[first:], room-used, count)
		switch {
		case ok:
			used += cost
			shown++
			for _, l := range p.forms[0] {
				known[plainLines(l.Text)] = p.hit.Handle
			}
		case i < namedPlaces && used+count(p.name())+callRoom <= room:
			used += count(p.name()) + callRoom
			a.More = append(a.More, p.name())
		default:
			a.Left++
		}
	}
	return used
}

// place shows a place if there is room. Of the first it shows a line in any case.
func (a *answer) place(
	p *foundPlace, shown int, forms [][]recall.Line, room int, count func(string) int,
) (cost int, ok bool) {
	at := slices.IndexFunc(a.Hits, func(h recall.SearchHit) bool { return h.Handle == p.hit.Handle })
	head := 0
	if at < 0 {
		head = count(p.hit.Text())
	}
	for _, lines := range forms {
		if len(lines) == 0 || head >= room {
			continue
		}
		if cost = head + count(recall.TextOf(lines)); cost <= room {
			a.show(at, p, lines)
			return cost, true
		}
	}
	if shown > 0 || len(p.forms[0]) == 0 {
		return 0, false
	}
	lines := p.forms[1]
	if len(lines) == 0 {
		lines = p.forms[0]
	}
	p.hit.Cut = p.call
	for len(lines) > 1 && head+count(recall.TextOf(lines)) > room {
		lines = lines[:len(lines)-1]
	}
	a.show(at, p, lines)
	return head + count(recall.TextOf(lines)), true
}

// show adds lines to hit at, or as a new hit if at is negative.
func (a *answer) show(at int, p *foundPlace, lines []recall.Line) {
	if at < 0 {
		p.hit.Shown = lines
		a.Hits = append(a.Hits, p.hit)
		return
	}
	h := &a.Hits[at]
	h.Shown = joinLines(append(h.Shown[:len(h.Shown):len(h.Shown)], lines...))
	h.Same = max(h.Same, p.hit.Same)
}

// name is the call that shows a place, with what the place is.
func (p *foundPlace) name() string { return p.call + " (" + p.hit.What + ")" }

// repeats reports whether the answer has most of the lines already from another source:
// files are read more than once, and edits quote them.
func (p *foundPlace) repeats(known map[string]string) bool {
	all, same := 0, 0
	for _, l := range p.forms[0] {
		if key := plainLines(l.Text); len(key) > 4 {
			all++
			if from, ok := known[key]; ok && from != p.hit.Handle {
				same++
			}
		}
	}
	return all > 0 && float64(same) >= sameLines*float64(all)
}

// joinLines puts lines in order, each once; parts of a long line that touch become one.
func joinLines(lines []recall.Line) []recall.Line {
	slices.SortStableFunc(lines, func(a, b recall.Line) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Column, b.Column))
	})
	out := lines[:0]
	for _, l := range lines {
		n := len(out)
		if n == 0 || out[n-1].Number != l.Number || l.Column > out[n-1].Column+len(out[n-1].Text) {
			out = append(out, l)
			continue
		}
		last := &out[n-1]
		last.Match = last.Match || l.Match
		if more := l.Column + len(l.Text) - last.Column - len(last.Text); more > 0 {
			last.Text += l.Text[len(l.Text)-more:]
			last.Ended = l.Ended
		}
	}
	return out
}

// found returns what can be shown of a candidate: its lines with those around them.
func (x *searcher) found(c candidate) foundPlace {
	p := foundPlace{hit: recall.SearchHit{Source: c.of.Source, Score: c.score, Same: c.same}}
	t := linesOf(c.of.Text)
	p.hit.Lines, p.hit.Bytes = t.len(), len(t.text)
	best := x.bestLine(&c)
	match := func(i int) bool {
		return i >= c.from && i < c.to && best > 0 && x.lineValue(&c, i-c.from) >= best/2
	}
	from, to := max(c.from-x.r.Around, 0), min(c.to+x.r.Around, t.len())
	for i := from; i < to; i++ {
		cuts := []cut{t.opening(i)}
		if !match(i) {
			cuts[0] = t.clipped(i, besideLine)
		}
		if start, end := t.span(i); end-start > wideLine && i >= c.from && i < c.to {
			cuts = x.wide(t, i, c)
		}
		for _, k := range cuts {
			k.match = match(i)
			l := t.line(k)
			p.forms[0] = append(p.forms[0], l)
			if k.match {
				p.forms[1] = append(p.forms[1], l)
			}
		}
	}
	if x.r.Around == 0 {
		p.forms[0] = p.forms[1]
	}
	p.call = x.call.with(c.of.Handle, fmt.Sprintf(`lines="%s"`, writeRange(from+1, to)))
	if c.to-c.from == 1 && len(p.forms[0]) > 0 && p.forms[0][0].Size > len(p.forms[0][0].Text) {
		column := fmt.Sprintf("column=%d", c.start-t.starts[c.from]+1)
		p.call = x.call.with(c.of.Handle, fmt.Sprintf(`lines="%d"`, c.from+1), column)
	}
	return p
}

// wide returns what is shown of a long line: what is around the rarest of the query's words
// in the window.
func (x *searcher) wide(t textLines, i int, c candidate) []cut {
	w := t.whole(i)
	start, end := text.RuneStart(t.text, max(w.from, c.start)), text.RuneStart(t.text, min(w.to, c.end))
	var places [][]int
	low := lowerASCII(t.text[start:end])
	rarest := 0.0
	for k, n := range c.has {
		if n > 0 {
			rarest = max(rarest, x.rarity[k])
		}
	}
	for word, k := range x.Index {
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

// lowerASCII lowers ASCII letters, so that the text keeps its length.
func lowerASCII(s string) string {
	low := []byte(s)
	for i, c := range low {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return string(low)
}
