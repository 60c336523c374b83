package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// maxFolders is how many folders of files are listed that are not named.
const maxFolders = 12

// Record is what all renderings of the calls up to one message share. It is out of date when
// the ledger has changed.
type Record struct {
	entries []Entry // the newest, which may have lines
	older   int     // calls before them: they are counted, and their files are named
	lines   int     // entries that have a line, or a file in the list of files
	changed []PathState
	sorted  []int // changed files by their path
	named   map[namedFiles]string
	read    []PathState
	groups  []callGroup
	counts  Counts
	order   []int // groups, most important first, for when not all fit
	answer  func(e *Entry) string
	facts   transcript.Facts
	brief   bool
	limit   int
	folders int // most folders of changed files that are not named
	looked  int // most files to name that were only looked at
}

// callGroup is a command, or a failed call, with its repeats.
type callGroup struct {
	last          int // index of the newest whose end was seen, or else of the first
	calls, failed int
}

// Record prepares renderings of the calls in messages before upTo; see [RenderOptions].Brief.
func (l *Ledger) Record(upTo int, brief bool) *Record {
	n := l.firstIn(upTo)
	w := &Record{
		brief: brief, entries: l.Entries[max(n-Recent, 0):n], older: max(n-Recent, 0), looked: unlimited,
	}
	var calls tally
	var files trail
	for i := range n {
		calls.add(&l.Entries[i])
		files.add(&l.Entries[i])
	}
	w.counts = calls.counts()
	w.changed, w.read = files.states()
	slices.SortStableFunc(w.read, func(a, b PathState) int { return a.Last - b.Last })
	at := map[string]int{}
	for i := range w.entries {
		e := &w.entries[i]
		own := w.hasLine(e)
		if own || IsFileCall(e) {
			w.lines++
		}
		if !own {
			continue
		}
		key := e.Signature
		if e.Command != "" {
			key = e.Dir + "\x00" + e.Command
		}
		g, seen := at[key]
		if !seen {
			g = len(w.groups)
			at[key] = g
			w.groups = append(w.groups, callGroup{})
		}
		if w.groups[g].calls == 0 || e.Outcome == toolcall.Failed || !e.cutOff() {
			w.groups[g].last = i
		}
		w.groups[g].calls++
		if e.Outcome == toolcall.Failed {
			w.groups[g].failed++
		}
	}
	slices.SortFunc(w.groups, func(a, b callGroup) int { return a.last - b.last })
	w.order = w.byWeight()
	w.named = make(map[namedFiles]string)
	w.sorted = byPath(w.changed)
	return w
}

// namedFiles is what the list of changed files depends on. Renderings try several.
type namedFiles struct{ paths, folders int }

// byPath lists the places of files in the order of their paths.
func byPath(list []PathState) []int {
	sorted := make([]int, len(list))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(list[a].Path, list[b].Path) })
	return sorted
}

// alwaysShown is the number of newest commands that come before everything else: they say
// how things stand.
const alwaysShown = 3

// byWeight orders the groups by importance: the newest, then command lines that failed and were
// not mended, then those that publish the work, then other command lines, then the rest:
// scripts, and what is not known. Last come those of which the list of files says as much.
// Each from the newest to the oldest.
func (w *Record) byWeight() []int {
	var classes [6][]int
	for i := len(w.groups) - 1; i >= 0; i-- {
		class := 4
		switch e := &w.entries[w.groups[i].last]; {
		case len(classes[0]) < alwaysShown:
			class = 0
		case e.Outcome == toolcall.Failed && e.SupersededBy == 0 && e.plain():
			class = 1
		case Publishes(e) && !strings.Contains(e.Command, "; "):
			class = 2
		case IsFileCall(e) && !e.Steps:
			class = 5
		case e.plain():
			class = 3
		}
		classes[class] = append(classes[class], i)
	}
	return slices.Concat(classes[:]...)
}

// hasLine reports whether a call is shown besides what the list of files says: commands,
// messages to others, unknown tools, and failures.
func (w *Record) hasLine(e *Entry) bool {
	if e.Outcome == toolcall.Failed && (e.Harmless || IsFileCall(e)) {
		return e.SupersededBy == 0 && !(w.brief && e.Harmless)
	}
	return !e.Harmless && (!IsFileCall(e) || e.plain()) && e.Task == "" // what was asked about has the outcome
}
