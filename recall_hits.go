package pleat

import (
	"fmt"
	"slices"
	"strings"
)

// hit makes a hit of a candidate: its lines with those around them.
func (x *searcher) hit(c candidate) SearchHit {
	bf := &x.s.facts[c.ref.Message].blocks[c.ref.Block]
	h := SearchHit{Source: x.s.source(Place{c.ref.Message, c.ref.Message + 1, c.ref.Block}, bf.name.String()), Score: c.score, Same: c.same}
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
			h.Shown = append(h.Shown, l)
			if k.match || match(i-1) || match(i+1) {
				h.fewer[0] = append(h.fewer[0], l)
			}
			if k.match {
				h.fewer[1] = append(h.fewer[1], l)
			}
		}
	}
	h.call = x.call.with(h.Handle, fmt.Sprintf(`lines="%s"`, writeRange(from+1, to)))
	if c.to-c.from == 1 && len(h.Shown) > 0 && !h.Shown[0].whole() {
		h.call = x.call.with(h.Handle, fmt.Sprintf(`lines="%d"`, c.from+1), fmt.Sprintf("column=%d", c.start-t.starts[c.from]+1))
	}
	return h
}

// wide is what is shown of a long line: what is around the query's words, as far as the
// window reaches.
func (x *searcher) wide(t textLines, i int, c candidate) []cut {
	w := t.whole(i)
	start, end := t.boundary(max(w.from, c.start)), t.boundary(min(w.to, c.end))
	var places [][]int
	low := lowerASCII(t.text[start:end])
	for k, word := range x.words {
		if x.rarity[k] == 0 {
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

// fit makes the result small enough. The last hits give way first: they are shown with
// fewer lines, then named only. A query's unused room is the next one's.
func (r *SearchResult) fit(budget int, count func(string) int) {
	if budget < 0 {
		return
	}
	for i := range r.Answers {
		room := budget / (len(r.Answers) - i)
		budget -= r.Answers[i].fit(room, count)
	}
}

// fit returns what the answer takes.
func (a *SearchAnswer) fit(room int, count func(string) int) int {
	costs := make([]int, len(a.Hits))
	for i := range a.Hits {
		costs[i] = count(a.Hits[i].text())
	}
	total := func() int {
		sum := count(a.head()) + count(a.foot())
		for i := range a.Hits {
			sum += costs[i]
		}
		return sum
	}
	shrink := func(i int, lines []Line) {
		a.Hits[i].Shown = lines
		costs[i] = count(a.Hits[i].text())
	}
	for level := range 2 {
		for i := len(a.Hits) - 1; i >= 0 && total() > room; i-- {
			shrink(i, a.Hits[i].fewer[level])
		}
	}
	for n := len(a.Hits) - 1; n > 0 && total() > room; n-- { // to be named only
		a.More = append([]string{a.Hits[n].call + " (" + a.Hits[n].What + ")"}, a.More...)
		a.Hits = a.Hits[:n]
	}
	for len(a.More) > 0 && total() > room { // to be counted only
		a.More = a.More[:len(a.More)-1]
		a.Left++
	}
	for len(a.Hits) == 1 && len(a.Hits[0].Shown) > 1 && total() > room { // down to one line
		a.Hits[0].Cut = a.Hits[0].call
		shrink(0, a.Hits[0].Shown[:len(a.Hits[0].Shown)-1])
	}
	return total()
}

// head is the line above an answer.
func (a *SearchAnswer) head() string {
	if len(a.Hits) == 0 {
		return fmt.Sprintf("%ssearch %q: nothing has any of these words. Names are found whole and by their parts; try other words, or ledger() for calls and files.]\n", recallMark, a.Query)
	}
	return fmt.Sprintf("%ssearch %q: %s, best first]\n", recallMark, a.Query, plural(len(a.Hits)+len(a.More)+a.Left, "hit"))
}

// foot says what is not shown.
func (a *SearchAnswer) foot() string {
	var parts []string
	if len(a.More) > 0 {
		parts = append(parts, "no room here for: "+strings.Join(a.More, "; "))
	}
	if a.Left > 0 {
		parts = append(parts, plural(a.Left, "hit")+" not named; ask fewer questions at once or with more words")
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, "; ") + "]\n"
}

// text is a hit as a model reads it.
func (h *SearchHit) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s", h.Source)
	if h.Same > 0 {
		fmt.Fprintf(&b, "; the same in %s before", plural(h.Same, "place"))
	}
	if h.Visible {
		b.WriteString("; you can see it")
	}
	b.WriteString("]\n")
	writeLines(&b, h.Shown)
	if h.Cut != "" {
		fmt.Fprintf(&b, "[more: %s]\n", h.Cut)
	}
	return b.String()
}

// Text tells the result to a model.
func (r SearchResult) Text() string {
	var b strings.Builder
	for i := range r.Answers {
		a := &r.Answers[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.head())
		for j := range a.Hits {
			b.WriteString(a.Hits[j].text())
		}
		b.WriteString(a.foot())
	}
	return b.String()
}
