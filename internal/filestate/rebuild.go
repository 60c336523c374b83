package filestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Reader gives the blocks of a conversation.
type Reader interface {
	Block(transcript.BlockRef) transcript.Block
}

// Files follows the files of a conversation.
type Files struct {
	from   Reader
	ledger *ledger.Ledger
	calls  [][]touch               // by call: the files that it names
	names  []string                // by file: its longest spelling
	spoken []int                   // messages in which people spoke
	edits  map[int][]toolcall.Edit // by call: what it does to files, as far as it was asked
}

// touch is a file that a call names.
type touch struct {
	file int
	toolcall.PathChange
}

// Of finds the files that the calls of a conversation name. spoken are the messages in which
// people spoke, in order: they may change files before they do.
func Of(from Reader, l *ledger.Ledger, spoken []int) *Files {
	fs := &Files{from: from, ledger: l, spoken: spoken}
	fs.calls, fs.edits = make([][]touch, l.Len()), make(map[int][]toolcall.Edit)
	var table ledger.PathTable
	for i := range l.Entries {
		e := &l.Entries[i]
		for _, p := range e.Paths {
			id := table.File(e.DirOf(p), p.Path)
			fs.calls[i] = append(fs.calls[i], touch{id, p})
			for len(fs.names) <= id {
				fs.names = append(fs.names, "")
			}
			if full := toolcall.Join(e.DirOf(p), p.Path); len(full) > len(fs.names[id]) {
				fs.names[id] = full
			}
		}
	}
	return fs
}

// Find returns the numbers of the files that a spelling can mean: those whose path it is, or
// else those whose path ends with it.
func (fs *Files) Find(spelling string) []int {
	want := toolcall.CleanPath(spelling)
	var same, ends []int
	for id, name := range fs.names {
		switch {
		case name == want:
			same = append(same, id)
		case toolcall.EndsPath(name, want) || toolcall.EndsPath(want, name) && !toolcall.IsAbs(name):
			ends = append(ends, id)
		}
	}
	if len(same) > 0 {
		return same
	}
	return ends
}

// Name is the path of a file.
func (fs *Files) Name(id int) string { return fs.names[id] }

// At returns what a file contains after a call; 0: after the newest one.
func (fs *Files) At(id, call int) *File {
	f := &File{}
	fs.follow(fs.lineage(id, call), func(seq int, step func(*File)) bool {
		if call > 0 && seq > call {
			return false
		}
		step(f)
		return true
	})
	return f
}

// named is the file that something is from a call on.
type named struct{ seq, file int }

// lineage is what a file was before calls up to a number (0: all) moved it, oldest first.
func (fs *Files) lineage(id, call int) []named {
	call = cmp.Or(call, fs.ledger.Len())
	var out []named
	for seq := min(call, fs.ledger.Len()); seq > 0; seq-- {
		if from := fs.movedFrom(id, &fs.ledger.Entries[seq-1]); from >= 0 {
			out = append(out, named{seq, id})
			id = from
		}
	}
	out = append(out, named{0, id})
	slices.Reverse(out)
	return out
}

// movedFrom is the file that a call gave the name of a file; -1: none.
func (fs *Files) movedFrom(id int, e *ledger.Entry) int {
	from := -1
	if e.Outcome != toolcall.Succeeded || !e.Effective() || !fs.changed(id, e) {
		return from
	}
	for _, ed := range fs.editsOf(id, e) {
		if ed.Kind == toolcall.EditMove {
			from = fs.origin(id, ed)
		}
	}
	return from
}

// changed reports whether a call names a file as one that it changes.
func (fs *Files) changed(id int, e *ledger.Entry) bool {
	return slices.ContainsFunc(fs.calls[e.Seq-1], func(t touch) bool { return t.file == id && t.Changes() })
}

// makes reports whether a call names a file as one to which it does just that.
func (fs *Files) makes(change toolcall.CallKind, id, seq int) bool {
	return slices.ContainsFunc(fs.calls[seq-1], func(t touch) bool { return t.file == id && t.Change == change })
}

// origin is the other file that an edit moves; -1: it is not known.
func (fs *Files) origin(id int, ed toolcall.Edit) int {
	if from := fs.Find(ed.From); len(from) == 1 && from[0] != id {
		return from[0]
	}
	return -1
}

// follow calls visit for everything that tells something about a file, with the number of
// its call and what it does to a state of the file, until visit returns false. What people
// say comes with the number of the call after it.
func (fs *Files) follow(names []named, visit func(seq int, step func(*File)) bool) {
	spoken := fs.spoken
	id := names[0].file
	for i := range fs.ledger.Entries {
		e := &fs.ledger.Entries[i]
		if len(names) > 1 && names[1].seq == e.Seq {
			names = names[1:]
			id = names[0].file
		}
		for ; len(spoken) > 0 && spoken[0] < e.Call.Message; spoken = spoken[1:] {
			if i > 0 && !visit(e.Seq, spoke(e.Seq-1, spoken[0])) {
				return
			}
		}
		if step := fs.step(id, e); step != nil && !visit(e.Seq, step) {
			return
		}
	}
	if n := fs.ledger.Len(); n > 0 && len(spoken) > 0 {
		visit(n+1, spoke(n, spoken[0]))
	}
}

// Changes says what calls up to a number changed in a file (0: all calls): as a diff from what
// it was before the first of them, if all of it is known before and after, or else change by
// change. what says which.
func (fs *Files) Changes(id, call int) (changes, what string) {
	first := 0
	var list strings.Builder
	for i := range fs.ledger.Entries {
		e := &fs.ledger.Entries[i]
		if call > 0 && e.Seq > call {
			break
		}
		if !e.Effective() || !fs.changed(id, e) {
			continue
		}
		first = cmp.Or(first, e.Seq)
		fmt.Fprintf(&list, "# call %d\n", e.Seq)
		fs.writeEdits(&list, id, e)
	}
	if first == 0 {
		return "", "no call changed it"
	}
	before, after := &File{}, fs.At(id, call)
	if first > 1 {
		before = fs.At(id, first-1)
	}
	if len(before.pieces) == 0 && fs.makes(toolcall.CallCreate, id, first) {
		before = &File{ended: true}
	}
	if before.Whole() && (after.Whole() || after.Gone()) {
		return unifiedDiff(before.Content(), after.Content()), fmt.Sprintf("net change since call %d", first)
	}
	return list.String(), fmt.Sprintf("changes since call %d, one by one", first)
}

// writeEdits writes the old and new lines of what a call changes in a file.
func (fs *Files) writeEdits(b *strings.Builder, id int, e *ledger.Entry) {
	for _, ed := range fs.editsOf(id, e) {
		b.WriteString(unifiedDiff(ed.Old, ed.New))
		for _, h := range ed.Hunks {
			b.WriteString(unifiedDiff(toolcall.JoinLines(h.Old), toolcall.JoinLines(h.New)))
		}
	}
}
