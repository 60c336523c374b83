package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
)

// changes writes what changed in files, in at most room tokens.
func (in *input) changes(room int) string {
	files := in.changedFiles()
	if len(files) == 0 {
		return ""
	}
	root := commonRoot(files, func(f **fileChange) string { return (*f).path })
	w := &changeWriter{in: in, root: root}
	title := "## What changed in files (net; + came, - went, word for word, not all lines"
	if in.Ledger().Recently(in.End) > 1 {
		title += fmt.Sprintf("; by the newest %d calls", ledger.Recent)
	}
	if w.root != "" {
		title += "; paths under " + w.root
	}
	title += ")\n"
	count := in.count
	if room -= count(title); room < 30 {
		return ""
	}
	for _, f := range files {
		w.files = append(w.files, &shownChange{fileChange: f, ranked: slices.Clone(f.best)})
	}
	for picked := w.pick(room); len(picked) > 0; picked = picked[:len(picked)*9/10] {
		if text := w.text(picked); count(text) <= room {
			return title + text
		}
	}
	return ""
}

// changeWriter puts changed lines on the page.
type changeWriter struct {
	in    *input
	files []*shownChange
	root  string
}

// shownChange is a file of which a page may show changed lines.
type shownChange struct {
	*fileChange
	ranked []rankedLine // lines that are left, the best first
	taken  float32      // tokens of it that are on the page
}

// rankedLine is a line of a file with what it is worth.
type rankedLine struct {
	line  int
	worth float32
	old   bool // its names are on the page already
}

const (
	leastChange  = 0.5 // what a line must be worth to be shown
	maxFileLines = 80  // most lines of a file that may be shown
)

// rankChanges orders each file's lines by what they are worth. Files that were changed last
// and most count more.
func rankChanges(files []*fileChange) {
	for _, f := range files {
		newest := float32(max(files[len(files)-1].last(), 1))
		weight := (0.6 + 0.5*float32(f.last())/newest) * (1 + 0.1*float32(min(len(f.calls), 5)))
		if isTestFile(f.path) {
			weight *= 0.8
		}
		for i := range f.lines {
			if l := &f.lines[i]; !l.void && l.worth >= leastChange {
				worth := l.worth * (weight / float32(math.Sqrt(float64(l.cost()))))
				f.best = append(f.best, rankedLine{line: i, worth: worth})
			}
		}
		slices.SortStableFunc(f.best, func(a, b rankedLine) int { return cmp.Compare(b.worth, a.worth) })
		f.best = f.best[:min(len(f.best), maxFileLines)]
	}
}

// maxChanged is the most bytes of a changed line that a page shows.
const maxChanged = 160

// cost estimates the tokens of a line.
func (l *changedText) cost() float32 { return float32(min(l.end-l.start, maxChanged))/3.6 + 3 }

// pickedLine is a line of a file that is on the page.
type pickedLine struct {
	f    *shownChange
	line int
}

// pick chooses lines, one after the other from where it is worth most: the more of a file
// is shown, the less more of it helps.
func (w *changeWriter) pick(room int) []pickedLine {
	var picked []pickedLine
	left, share := float32(room), float32(room)/8
	covered := namesIn(w.in.told) // a model's digest tells these
	for {
		f := w.richest(share)
		if f == nil {
			return picked
		}
		r := &f.ranked[0]
		l := &f.lines[r.line]
		if !r.old && (allCovered(l.names, covered) || w.in.told != "" && len(l.names) == 0) {
			r.old = true
			r.worth *= toldWorth
			f.sink()
			continue
		}
		line := r.line
		f.ranked = f.ranked[1:]
		n := l.cost()
		if f.taken == 0 {
			n += headingTokens
		}
		if n > left {
			if left < 20 {
				return picked
			}
			continue
		}
		left -= n
		f.taken += n
		for _, h := range l.names {
			covered[h] = true
		}
		picked = append(picked, pickedLine{f, line})
	}
}

// toldWorth is what a line is worth if all its names are on the page, against another.
const toldWorth = 0.35

// richest is the file whose next line is worth most; nil: there are no more.
func (w *changeWriter) richest(share float32) *shownChange {
	var best *shownChange
	most := float32(0)
	for _, f := range w.files {
		if len(f.ranked) == 0 {
			continue
		}
		if worth := f.ranked[0].worth / (1 + f.taken/share); worth > most {
			best, most = f, worth
		}
	}
	return best
}

// sink moves the next line to where it belongs now that it is worth less.
func (f *shownChange) sink() {
	for i := 0; i+1 < len(f.ranked) && f.ranked[i+1].worth > f.ranked[i].worth; i++ {
		f.ranked[i], f.ranked[i+1] = f.ranked[i+1], f.ranked[i]
	}
}

// namesIn has the names in a text.
func namesIn(txt string) map[uint64]bool {
	names := make(map[uint64]bool)
	for _, a := range text.AppendAnchors(nil, txt) {
		names[a.Hash] = true
	}
	return names
}

func allCovered(names []uint64, covered map[uint64]bool) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(h uint64) bool { return !covered[h] })
}

// text writes the picked lines, file by file.
func (w *changeWriter) text(picked []pickedLine) string {
	lines := make(map[*shownChange][]int)
	for _, p := range picked {
		lines[p.f] = append(lines[p.f], p.line)
	}
	var b strings.Builder
	for _, f := range w.files {
		if len(lines[f]) > 0 {
			b.WriteString(w.head(f.fileChange))
		}
		for _, i := range slices.Sorted(slices.Values(lines[f])) {
			mark := "+ "
			if !f.lines[i].added {
				mark = "- "
			}
			b.WriteString(mark + fence.Line(text.ClipAround(w.line(&f.lines[i]), 0, maxChanged)) + "\n")
		}
	}
	return b.String()
}

func (w *changeWriter) line(l *changedText) string {
	parts := w.in.textsAt(l.ref)
	if l.sub >= len(parts) || int(l.end) > len(parts[l.sub].text) {
		return "" // damaged in the store since it was mined
	}
	return parts[l.sub].text[l.start:l.end]
}

// head names the newest calls that changed the file, and the file.
func (w *changeWriter) head(f *fileChange) string {
	var b strings.Builder
	named := f.calls[max(len(f.calls)-ledger.MaxCallsNamed, 0):]
	for _, seq := range named {
		fmt.Fprintf(&b, "#%d ", seq)
	}
	if len(named) < len(f.calls) {
		fmt.Fprintf(&b, "(of %d calls) ", len(f.calls))
	}
	ref := w.in.Ledger().Entries[f.last()-1].Call
	if h := w.in.Facts().Block(ref).Handle.String(); h != "" && w.in.Recall != nil && !w.in.byNumber() {
		b.WriteString("[" + h + "] ")
	}
	b.WriteString(strings.TrimPrefix(f.path, w.root))
	switch {
	case f.created && f.from == "" && w.in.Ledger().Recently(w.in.End) == 1:
		b.WriteString(" (created)")
	case f.from != "":
		b.WriteString(" (was " + strings.TrimPrefix(f.from, w.root) + ")")
	}
	b.WriteString(":\n")
	return b.String()
}
