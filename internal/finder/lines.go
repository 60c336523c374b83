package finder

import (
	"cmp"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/text"
)

type textLines struct {
	text   string
	starts []int
}

func linesOf(txt string) textLines {
	starts := make([]int, 0, 1+strings.Count(txt, "\n"))
	for at := 0; at < len(txt); at = text.LineEnd(txt, at) {
		starts = append(starts, at)
	}
	return textLines{text: txt, starts: starts}
}

func (t textLines) len() int { return len(t.starts) }

// span returns where line i, counted from 0, begins and ends, without its line feed.
func (t textLines) span(i int) (start, end int) {
	end = len(t.text)
	if i+1 < len(t.starts) {
		end = t.starts[i+1]
	}
	if end > t.starts[i] && t.text[end-1] == '\n' {
		end--
	}
	return t.starts[i], end
}

// A cut is a part of one line that is to be shown.
type cut struct {
	line     int // counted from 0
	from, to int // bytes of the text; a line feed at to belongs to it if feed is set
	feed     bool
	match    bool
}

func (t textLines) whole(i int) cut {
	start, end := t.span(i)
	return cut{line: i, from: start, to: end, feed: end < len(t.text)}
}

func (t textLines) line(c cut) recall.Line {
	start, end := t.span(c.line)
	return recall.Line{
		Number: c.line + 1, Column: c.from - start + 1, Text: t.text[c.from:c.to], Size: end - start,
		Match: c.match, Ended: c.feed,
	}
}

// textOf is a cut as it is shown.
func (t textLines) textOf(c cut) string { return recall.TextOf([]recall.Line{t.line(c)}) }

func (t textLines) between(r recall.UnfoldRequest) []cut {
	from, to := t.chosen(r)
	var out []cut
	for i := from; i < to; i++ {
		c := t.whole(i)
		if i == from && r.Column > 1 {
			c.from = text.RuneStart(t.text, min(c.from+r.Column-1, c.to))
		}
		out = append(out, c)
	}
	return out
}

// chosen turns the request's line numbers into a range from ≤ i < to.
func (t textLines) chosen(r recall.UnfoldRequest) (from, to int) {
	from, to = min(max(r.From-1, 0), t.len()), t.len()
	if r.To > 0 {
		to = min(r.To, t.len())
	}
	return from, to
}

// Lines longer than wideLine are shown in parts: what matched with besideMatch bytes on
// either side, or their beginning where nothing matched.
const (
	wideLine    = 1_000
	besideMatch = 200
	besideLine  = 240 // in search, for lines that do not match
)

// matching chooses the lines that match, with lines around them. It also counts those
// that match.
func (t textLines) matching(re *regexp.Regexp, r recall.UnfoldRequest) (out []cut, matches int) {
	from, to := t.chosen(r)
	around := max(cmp.Or(r.Around, 2), 0)
	next := from // first line that is not chosen yet
	after := 0   // lines still to be shown after a match
	for i := from; i < to; i++ {
		skip := 0
		if i == from && r.Column > 1 {
			skip = r.Column - 1
		}
		found := t.parts(i, skip, re)
		if len(found) == 0 {
			if after > 0 {
				after--
				out, next = append(out, t.opening(i)), i+1
			}
			continue
		}
		for k := max(next, i-around); k < i; k++ {
			out = append(out, t.opening(k))
		}
		out, next, after = append(out, found...), i+1, around
		matches++
	}
	return out, matches
}

// opening returns what is shown of a line near a match: all of it, or its beginning.
func (t textLines) opening(i int) cut { return t.clipped(i, wideLine) }

// clipped returns a line of at most most bytes whole, of a longer one the beginning.
func (t textLines) clipped(i, most int) cut {
	c := t.whole(i)
	if c.to-c.from > most {
		c.to, c.feed = text.RuneStart(t.text, c.from+besideMatch), false
	}
	return c
}

// parts returns what matches in line i from byte skip on: the line itself, or of a long line
// what is around its matches.
func (t textLines) parts(i, skip int, re *regexp.Regexp) []cut {
	c := t.whole(i)
	c.match = true
	skip = min(skip, c.to-c.from)
	if c.to-c.from <= wideLine {
		if !re.MatchString(t.text[c.from+skip : c.to]) {
			return nil
		}
		return []cut{c}
	}
	base := c.from + skip
	return t.around(c, re.FindAllStringIndex(t.text[base:c.to], -1), base)
}

// around returns what is around matches in a long line, whose offsets are relative to base.
func (t textLines) around(c cut, places [][]int, base int) []cut {
	var out []cut
	for _, at := range places {
		from := text.RuneStart(t.text, max(base+at[0]-besideMatch, c.from))
		to := text.RuneStart(t.text, min(base+at[1]+besideMatch, c.to))
		if n := len(out); n > 0 && out[n-1].to >= from {
			out[n-1].to = max(out[n-1].to, to)
			continue
		}
		out = append(out, cut{line: c.line, from: from, to: to, match: true})
	}
	for i := range out {
		out[i].feed = c.feed && out[i].to == c.to
	}
	return out
}

// rest is where showing stopped: the number of a line, and the column in it.
type rest struct{ number, column int }

// fitCuts takes as many cuts as the budget allows; one that is too large for what is left is
// cut again. The rest says where to go on; it is nil if everything fits.
func fitCuts(t textLines, cuts []cut, budget int, count func(string) int) ([]recall.Line, *rest) {
	out := make([]recall.Line, 0, len(cuts))
	if budget <= 0 {
		for _, c := range cuts {
			out = append(out, t.line(c))
		}
		return out, nil
	}
	room := max(budget-frame, minRoom)
	for i, c := range cuts {
		cost := count(t.textOf(c))
		if cost <= room {
			room -= cost
			out = append(out, t.line(c))
			continue
		}
		// A line that fits on a page of its own waits for the next page.
		if i > 0 && cost <= budget-frame || room < minRoom && i > 0 {
			return out, t.rest(c.line, c.from)
		}
		full := c.to
		c.to, c.feed = t.fitting(c, room, count), false
		if c.to > c.from {
			out = append(out, t.line(c))
		}
		if c.to < full {
			return out, t.rest(c.line, c.to)
		}
	}
	return out, nil
}

const (
	frame   = 100 // tokens for what comes before and after the lines
	minRoom = 40  // tokens below which a part of a line is not worth showing
)

// fitting returns the end of the longest beginning of a cut that takes at most room tokens.
func (t textLines) fitting(c cut, room int, count func(string) int) int {
	low := sort.Search(min(c.to-c.from, 8*room), func(n int) bool {
		d := c
		d.to = text.RuneStart(t.text, c.from+n+1)
		return count(t.textOf(d)) > room
	})
	if low == 0 { // always some progress
		low = min(c.to-c.from, utf8.UTFMax)
	}
	if to := text.RuneStart(t.text, c.from+low); to > c.from {
		return to
	}
	return min(c.from+utf8.UTFMax, c.to)
}

func (t textLines) rest(line, at int) *rest {
	start, _ := t.span(line)
	return &rest{line + 1, at - start + 1}
}
