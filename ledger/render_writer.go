package ledger

import (
	"cmp"
	"fmt"
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
	read    []PathState
	groups  []callGroup
	counts  Counts
	order   []int // groups, most important first, for when not all fit
	answer  func(e *Entry) string
	facts   transcript.Facts
	brief   bool
	effects bool // only what may have changed something
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
	var files trail
	for i := range n {
		files.add(&l.Entries[i])
	}
	w.counts = countsOf(l.Entries[:n])
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
	w.sorted = byPath(w.changed)
	return w
}

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

// files writes what became of each changed file.
func (w *Record) files(b *strings.Builder, d ledgerDetail) {
	if d.compact {
		b.WriteString(w.together(min(d.paths, len(w.changed))))
		return
	}
	for _, s := range w.changed {
		fmt.Fprintf(b, "%s: %s", stateLabels[s.label()], s.Path)
		if s.Source != "" {
			b.WriteString(" from " + s.Source)
		}
		if s.Count > 1 {
			fmt.Fprintf(b, " (%d times)", s.Count)
		}
		for _, seq := range s.Calls[max(0, len(s.Calls)-MaxCallsNamed):] {
			fmt.Fprintf(b, " #%d", seq)
		}
		b.WriteByte('\n')
	}
}

// together names the newest n changed files, taken together by what became of them, and
// counts the others.
func (w *Record) together(n int) string {
	var b strings.Builder
	extra := len(w.changed) - n
	if extra > 0 {
		w.counted(&b, extra)
	}
	names := make([][]string, len(stateLabels))
	for _, i := range w.sorted {
		if i >= extra {
			label := w.changed[i].label()
			names[label] = append(names[label], w.changed[i].Path)
		}
	}
	for label, list := range names {
		if joined := strings.Join(braced(slices.Compact(list), 0), ", "); joined != "" {
			fmt.Fprintf(&b, "%s: %s\n", stateLabels[label], joined)
		}
	}
	return b.String()
}

// MaxCallsNamed is how many calls that changed a file are named with it: the newest.
const MaxCallsNamed = 6

// counted writes that the first n changed files are not named, and in which folders they are.
func (w *Record) counted(b *strings.Builder, n int) {
	in := make(map[string]int)
	for _, s := range w.changed[:n] {
		in[s.Path[:strings.LastIndexAny(s.Path, slashes)+1]]++
	}
	folders := byFrequency(in)
	fmt.Fprintf(b, "%d more files changed in %d folders", n, len(folders))
	for i, f := range folders[:min(len(folders), w.folders)] {
		fmt.Fprintf(b, "%s %s (%d)", map[bool]string{true: ":", false: ","}[i == 0], cmp.Or(f.Name, "./"), f.Count)
	}
	b.WriteString("; ledger(files=true) names them all.\n")
}

// Files names all changed files, or those that a path of a filter chooses.
func (l *Ledger) Files(path string) string {
	w := &Record{changed: l.Changed()}
	if path != "" {
		w.changed = slices.DeleteFunc(w.changed, func(s PathState) bool { return !pathMatches(path, s.Path) })
	}
	w.sorted = byPath(w.changed)
	return fmt.Sprintf("%d changed files.\n", len(w.changed)) + w.together(len(w.changed))
}

var stateLabels = []string{"Created", "Edited", "Deleted", "Created and deleted again", "Touched by unknown tools"}

// label chooses the words for what became of a file.
func (s PathState) label() int {
	switch {
	case s.State == toolcall.CallCreate:
		return 0
	case s.State == toolcall.CallEdit:
		return 1
	case s.State == toolcall.CallDelete && s.Created:
		return 3
	case s.State == toolcall.CallDelete:
		return 2
	}
	return 4
}
