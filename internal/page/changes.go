package page

import (
	"slices"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// fileChange is the net change of one file: the lines that the calls of the stretch put into
// it and took out of it. Lines that were put in and taken out again do not count.
type fileChange struct {
	path    string
	from    string // renamed from there
	created bool
	known   bool                  // it was read or written before: what is written over it is compared
	calls   []int                 // numbers of those that changed it
	reads   []transcript.BlockRef // results that showed it
	lines   []changedText
	at      map[uint64]int // line in force by its hash
	best    []rankedLine   // the best first
}

// changedText is a line that came or went.
type changedText struct {
	ref        transcript.BlockRef
	sub        int
	start, end int32
	added      bool
	void       bool // undone later
	worth      float32
	names      []uint64
}

// changedFiles follows the calls of the stretch and returns the changed files with their lines
// ranked, the one that was changed last at the end.
func (in *input) changedFiles() []*fileChange {
	if in.changed != nil {
		return in.changed
	}
	var files fileTable[fileChange]
	file := func(dir, path string) *fileChange {
		return files.at(dir, path, func() *fileChange { return &fileChange{path: path} })
	}
	for seq := in.Ledger().Recently(in.End); seq <= in.Ledger().Len(); seq++ {
		e := &in.Ledger().Entries[seq-1]
		if e.Call.Message >= in.End {
			break
		}
		if !e.Effective() {
			continue
		}
		for _, p := range e.Paths {
			f := file(e.DirOf(p), p.Path)
			switch {
			case !p.Changes():
				f.read(e, p)
			case e.Call.Message >= in.Start:
				f.change(e.Seq, p)
				for _, inside := range files.deleted(e, p) {
					inside.end()
				}
				if p.Source != "" {
					f.moved(file(e.DirOf(p), p.Source))
				}
			}
		}
		if e.Call.Message >= in.Start && !in.tooOld(e.Call) && ledger.IsFileCall(e) {
			for k, part := range in.mine(e.Call) {
				if part.kind.change() {
					in.applyChange(file(e.Dir, part.label), e.Call, k, &part)
				}
			}
		}
	}
	list := slices.DeleteFunc(files.list, func(f *fileChange) bool { return len(f.calls) == 0 })
	slices.SortStableFunc(list, func(a, b *fileChange) int { return a.last() - b.last() })
	rankChanges(list)
	in.changed = list
	return list
}

func (f *fileChange) read(e *ledger.Entry, p toolcall.PathChange) {
	if e.Outcome == toolcall.Succeeded && e.Kind == toolcall.CallRead && len(e.Paths) == 1 && !p.Some {
		f.reads, f.known = append(f.reads, e.Result), true
	}
}

// last is the number of the newest call that changed the file.
func (f *fileChange) last() int { return f.calls[len(f.calls)-1] }

// change notes that a call changed the file.
func (f *fileChange) change(seq int, p toolcall.PathChange) {
	if p.Change == toolcall.CallCreate && len(f.calls) == 0 && !f.known {
		f.created = true
	}
	if len(f.calls) == 0 || f.last() != seq {
		f.calls = append(f.calls, seq)
	}
	if p.Change == toolcall.CallDelete {
		f.end()
	}
}

// end notes that the file is gone.
func (f *fileChange) end() { f.lines, f.at = nil, nil }

// moved makes f what old was: old was renamed to f.
func (f *fileChange) moved(old *fileChange) {
	f.from, f.created, f.known = old.path, old.created, old.known
	f.lines, f.at, f.reads = old.lines, old.at, old.reads
	old.end()
}

// applyChange adds the lines of one change to a file.
func (in *input) applyChange(f *fileChange, ref transcript.BlockRef, sub int, part *minedPart) {
	if f.at == nil {
		f.at = make(map[uint64]int)
	}
	fresh := func(int) bool { return true }
	if part.whole && (f.known || len(f.lines) > 0) {
		fresh = in.overwrite(f, part)
	}
	for i := range part.lines {
		l := &part.lines[i]
		added := part.kind == fromChange
		if k, ok := f.at[l.hash]; ok {
			if f.lines[k].added != added { // undone
				f.lines[k].void = true
				delete(f.at, l.hash)
			}
			continue
		}
		if !fresh(i) {
			continue
		}
		worth := l.cues
		if !added {
			worth *= removedWorth
			if l.lead != lineDefinition {
				worth *= removedWorth
			}
		}
		f.at[l.hash] = len(f.lines)
		f.lines = append(f.lines, changedText{
			ref: ref, sub: sub, start: l.start, end: l.end, added: added, worth: worth, names: part.namesOf(i),
		})
	}
	f.known = true
}

// removedWorth is what a removed line is worth against an added one.
const removedWorth = 0.4

// overwrite is called when a file is written anew. Lines that earlier calls added and the new
// text does not have are undone; lines that they added or reads showed are not new. It
// returns which lines of the new text are.
func (in *input) overwrite(f *fileChange, part *minedPart) func(i int) bool {
	now := make(map[uint64]bool, len(part.lines))
	for i := range part.lines {
		now[part.lines[i].hash] = true
	}
	for h, k := range f.at { // in any order: each stands for itself
		if f.lines[k].added && !now[h] {
			f.lines[k].void = true
			delete(f.at, h)
		}
	}
	before := make(map[uint64]bool)
	for _, ref := range f.reads {
		if in.tooOld(ref) {
			continue
		}
		for _, p := range in.mine(ref) {
			for i := range p.lines {
				before[p.lines[i].hash] = true
			}
		}
	}
	if len(before) == 0 {
		return func(int) bool { return true }
	}
	return func(i int) bool { return !before[part.lines[i].hash] && len(part.namesOf(i)) > 0 }
}

// fileTable has an element for each file, in the order in which they were first named.
type fileTable[T any] struct {
	table ledger.PathTable
	files map[int]*T
	list  []*T
}

// at returns the element of a file, made by fresh if there is none yet.
func (t *fileTable[T]) at(dir, path string, fresh func() *T) *T {
	id := t.table.File(dir, path)
	f := t.files[id]
	if f == nil {
		if t.files == nil {
			t.files = make(map[int]*T)
		}
		f = fresh()
		t.files[id], t.list = f, append(t.list, f)
	}
	return f
}

// deleted returns the elements of the files that went with a directory which a call deletes.
func (t *fileTable[T]) deleted(e *ledger.Entry, p toolcall.PathChange) (list []*T) {
	if p.Change == toolcall.CallDelete {
		for _, id := range t.table.Below(t.table.File(e.DirOf(p), p.Path)) {
			list = append(list, t.files[id])
		}
	}
	return list
}
