package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// files writes what became of each changed file.
func (w *Record) files(b *strings.Builder, d ledgerDetail) {
	if d.compact {
		key := namedFiles{min(d.paths, len(w.changed)), w.folders}
		s, ok := w.named[key]
		if !ok {
			s = w.together(key.paths)
			w.named[key] = s
		}
		b.WriteString(s)
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
