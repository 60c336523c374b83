package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// changes writes what changed in files, in at most room tokens.
func (in *Input) changes(room int) string {
	files := in.changedFiles()
	if len(files) == 0 {
		return ""
	}
	root := commonRoot(func(yield func(string) bool) {
		for i := 0; i < len(files) && yield(files[i].path); i++ {
		}
	})
	w := &changeWriter{in: in, files: files, root: root, texts: make(map[transcript.BlockRef][]blockPart)}
	title := "## What changed in files (net; + came, - went, word for word"
	if in.Ledger.Recently(in.End) > 1 {
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
	w.rank()
	for picked := w.pick(room); len(picked) > 0; picked = w.drop(picked) {
		if text := w.text(); count(text) <= room {
			return title + text
		}
	}
	return ""
}

// changeWriter puts changed lines on the page.
type changeWriter struct {
	in    *Input
	files []*fileChange
	root  string
	texts map[transcript.BlockRef][]blockPart
}

const (
	leastChange  = 0.5 // what a line must be worth to be shown
	maxFileLines = 80  // most lines of a file that may be shown
)

// rank orders each file's lines by what they are worth. Files that were changed last and
// most count more.
func (w *changeWriter) rank() {
	newest := float32(max(w.files[len(w.files)-1].last(), 1))
	for _, f := range w.files {
		weight := (0.6 + 0.5*float32(f.last())/newest) * (1 + 0.1*float32(min(len(f.calls), 5)))
		if isTestFile(f.path) {
			weight *= 0.8
		}
		for i := range f.lines {
			if l := &f.lines[i]; !l.void && l.worth >= leastChange {
				l.worth *= weight / float32(math.Sqrt(float64(l.cost())))
				f.best = append(f.best, i)
			}
		}
		slices.SortStableFunc(f.best, func(a, b int) int { return cmp.Compare(f.lines[b].worth, f.lines[a].worth) })
		f.best = f.best[:min(len(f.best), maxFileLines)]
	}
}

// maxChanged is the most bytes of a changed line that a page shows.
const maxChanged = 160

// cost estimates the tokens of a line.
func (l *changedText) cost() float32 { return float32(min(l.end-l.start, maxChanged))/3.6 + 3 }

// pickedLine is a line of a file that is on the page.
type pickedLine struct {
	f    *fileChange
	line int
}

// pick chooses lines, one after the other from where it is worth most: the more of a file
// is shown, the less more of it helps.
func (w *changeWriter) pick(room int) []pickedLine {
	var picked []pickedLine
	left, share := float32(room), float32(room)/8
	covered := w.in.toldNames()
	for {
		f := w.richest(share)
		if f == nil {
			return picked
		}
		l := &f.lines[f.best[f.next]]
		if !l.old && (allCovered(l.names, covered) || w.in.told != "" && len(l.names) == 0) {
			l.old = true
			l.worth *= toldWorth
			f.sink()
			continue
		}
		i := f.best[f.next]
		f.next++
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
		l.picked = true
		for _, h := range l.names {
			covered[h] = true
		}
		picked = append(picked, pickedLine{f, i})
	}
}

// toldWorth is what a line is worth if all its names are on the page, against another.
const toldWorth = 0.35

// richest is the file whose next line is worth most; nil: there are no more.
func (w *changeWriter) richest(share float32) *fileChange {
	var best *fileChange
	most := float32(0)
	for _, f := range w.files {
		if f.next == len(f.best) {
			continue
		}
		taken := f.taken
		if isDocument(f.path) { // tells itself what it is about, and soon
			taken *= 3
		}
		if worth := f.lines[f.best[f.next]].worth / (1 + taken/share); worth > most {
			best, most = f, worth
		}
	}
	return best
}

// sink moves the next line to where it belongs now that it is worth less.
func (f *fileChange) sink() {
	i := f.next
	for i+1 < len(f.best) && f.lines[f.best[i+1]].worth > f.lines[f.best[i]].worth {
		f.best[i], f.best[i+1] = f.best[i+1], f.best[i]
		i++
	}
}

// toldNames has the names that a model's digest tells.
func (in *Input) toldNames() map[uint64]bool {
	names := make(map[uint64]bool)
	for _, a := range text.AppendAnchors(nil, in.told) {
		names[a.Hash] = true
	}
	return names
}

func allCovered(names []uint64, covered map[uint64]bool) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(h uint64) bool { return !covered[h] })
}

// drop gives up the last tenth of the picked lines.
func (w *changeWriter) drop(picked []pickedLine) []pickedLine {
	keep := len(picked) * 9 / 10
	for _, p := range picked[keep:] {
		p.f.lines[p.line].picked = false
	}
	return picked[:keep]
}

// text writes the picked lines, file by file.
func (w *changeWriter) text() string {
	var b strings.Builder
	for _, f := range w.files {
		head := false
		for i := range f.lines {
			l := &f.lines[i]
			if !l.picked {
				continue
			}
			if !head {
				b.WriteString(w.head(f))
				head = true
			}
			mark := "+ "
			if !l.added {
				mark = "- "
			}
			b.WriteString(mark + text.ClipAround(w.line(l), 0, maxChanged) + "\n")
		}
	}
	return b.String()
}

func (w *changeWriter) line(l *changedText) string {
	parts, ok := w.texts[l.ref]
	if !ok {
		parts = w.in.textsOf(l.ref)
		w.texts[l.ref] = parts
	}
	if l.sub >= len(parts) || int(l.end) > len(parts[l.sub].text) {
		return "" // damaged in the store since it was mined
	}
	line := parts[l.sub].text[l.start:l.end]
	if parts[l.sub].kind == fromResult {
		line = strings.TrimSpace(line[text.NumberEnd(line):])
	}
	return line
}

// head names the file and the newest calls that changed it.
func (w *changeWriter) head(f *fileChange) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(f.path, w.root) + " (")
	switch {
	case f.created && f.from == "" && w.in.Ledger.Recently(w.in.End) == 1:
		b.WriteString("created, ")
	case f.from != "":
		b.WriteString("was " + strings.TrimPrefix(f.from, w.root) + ", ")
	}
	named := f.calls[max(len(f.calls)-ledger.MaxCallsNamed, 0):]
	if len(named) < len(f.calls) {
		fmt.Fprintf(&b, "%d calls, newest ", len(f.calls))
	}
	for i, seq := range named {
		fmt.Fprintf(&b, "%s#%d", " "[:min(i, 1)], seq)
	}
	ref := w.in.Ledger.Entries[f.last()-1].Call
	if h := w.in.FactsOf(ref).Name.String(); h != "" && w.in.Recall != nil && !w.in.byNumber() {
		b.WriteString(" [" + h + "]")
	}
	b.WriteString("):\n")
	return b.String()
}
