package filestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
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

// spoke is what happens to the certainty about a file when people speak after a call.
func spoke(call, message int) func(*File) {
	why := fmt.Sprintf("the user spoke after it, in message %d, and may have changed it", message+1)
	d := Doubt{Call: call, Why: why, next: true}
	return func(f *File) { f.Lose(d) }
}

// step is what a call does to the state of a file; nil: nothing.
func (fs *Files) step(id int, e *ledger.Entry) func(*File) {
	var own []toolcall.PathChange
	for _, t := range fs.calls[e.Seq-1] {
		switch {
		case t.file == id:
			own = append(own, t.PathChange)
		case t.Changes() && e.Effective() && fs.above(t.file, id):
			return loses(e, "it changed the directory")
		}
	}
	if len(own) == 0 {
		if e.Effective() && !e.Harmless {
			return fs.stray(e)
		}
		return nil
	}
	if !slices.ContainsFunc(own, toolcall.PathChange.Changes) {
		return fs.reads(own, e)
	}
	switch {
	case !e.Effective():
		return fs.failed(id, e)
	case e.Outcome == toolcall.Unanswered:
		return loses(e, "its result is not known")
	case e.Outcome == toolcall.Running:
		return loses(e, "it goes on in the background")
	case e.Outcome != toolcall.Succeeded:
		return loses(e, "it failed halfway")
	}
	return fs.changes(id, e)
}

// above reports whether a file is a directory above another.
func (fs *Files) above(dir, id int) bool {
	name := strings.TrimSuffix(fs.names[dir], "/*")
	return strings.HasPrefix(fs.names[id], name+"/") || strings.ContainsAny(name, "*?[")
}

func loses(e *ledger.Entry, why string) func(*File) {
	d := Doubt{Call: e.Seq, Why: why}
	return func(f *File) { f.Lose(d) }
}

func (fs *Files) call(e *ledger.Entry) transcript.ToolCall {
	c, _ := fs.from.Block(e.Call).(transcript.ToolCall)
	return c
}

func (fs *Files) result(e *ledger.Entry) string { return transcript.BlockText(fs.from.Block(e.Result)) }

// reads is what a call that only looks at the file tells.
func (fs *Files) reads(own []toolcall.PathChange, e *ledger.Entry) func(*File) {
	switch p := own[0]; {
	case e.Outcome != toolcall.Succeeded:
	case e.Unchanged:
		return func(f *File) { f.Vouch() }
	case len(fs.calls[e.Seq-1]) == 1 && !p.Some && e.Kind == toolcall.CallRead:
		if s, ok := shownBy(fs.call(e), p, fs.result(e)); ok {
			return func(f *File) {
				if f.See(e.Seq, s.at, s.text, s.ended); s.rough {
					f.Lose(Doubt{
						Call: e.Seq, Why: "it may have left out empty lines at the beginning and the end", hard: true,
					})
				}
			}
		}
	}
	return nil
}

// changes is what a call that changes the file does to it.
func (fs *Files) changes(id int, e *ledger.Entry) func(*File) {
	var steps []func(*File)
	for _, ed := range fs.editsOf(id, e) {
		if step := fs.edit(id, e, ed); step != nil {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		if fs.makes(toolcall.CallDelete, id, e.Seq) && !e.Steps {
			return func(f *File) { f.Delete(e.Seq) }
		}
		return loses(e, "how it changed it is not known: "+text.OneLine(e.Args, 80))
	}
	return func(f *File) {
		for _, step := range steps {
			step(f)
		}
		if e.Steps && e.Command != "" {
			if step := fs.stray(e); step != nil {
				step(f)
			}
		}
	}
}

// failed is what a failed change tells: the file is as it was. But if it did not find text
// that the known lines have, they are no longer right.
func (fs *Files) failed(id int, e *ledger.Entry) func(*File) {
	if e.Command != "" {
		return nil
	}
	edits := fs.editsOf(id, e)
	return func(f *File) {
		for _, ed := range edits {
			if f.has(ed) && text.ContainsAny(strings.ToLower(e.ErrorLine), missed...) {
				f.Lose(Doubt{Call: e.Seq, Why: "it did not find text that the known lines have", hard: true})
			}
		}
	}
}

// missed is what tools say of text that a file does not have.
var missed = []string{"not found", "find", "modified since", "did not appear", "no match", "0 occurrences"}

// editsOf is what a call does to a file.
func (fs *Files) editsOf(id int, e *ledger.Entry) []toolcall.Edit {
	all, ok := fs.edits[e.Seq]
	if !ok {
		all = toolcall.Edits(fs.call(e))
		fs.edits[e.Seq] = all
	}
	var out []toolcall.Edit
	for _, ed := range all {
		if ed.Path == "" || fs.means(id, e, ed.Path) {
			out = append(out, ed)
		}
	}
	return out
}

// means reports whether a path in a call is one of its spellings of a file.
func (fs *Files) means(id int, e *ledger.Entry, path string) bool {
	return slices.ContainsFunc(fs.calls[e.Seq-1], func(t touch) bool {
		return t.file == id && (t.Path == path || toolcall.SameFile(toolcall.Join(e.DirOf(t.PathChange), t.Path), path))
	})
}

func (fs *Files) edit(id int, e *ledger.Entry, ed toolcall.Edit) func(*File) {
	switch ed.Kind {
	case toolcall.EditReplace:
		return func(f *File) {
			before := ed.Old
			line := plain(before) + "\n"
			if ed.Closes && ed.New == "" && before != "" && !strings.HasSuffix(before, "\n") &&
				len(f.find(line, false)) > 0 {
				before += "\n"
			}
			f.Replace(e.Seq, before, ed.New, ed.All)
		}
	case toolcall.EditWrite:
		return func(f *File) { f.Write(e.Seq, ed.New) }
	case toolcall.EditAppend:
		return func(f *File) { f.Append(e.Seq, ed.New) }
	case toolcall.EditInsert:
		return func(f *File) { f.Insert(e.Seq, ed.Line, ed.New) }
	case toolcall.EditPatch:
		return func(f *File) { f.Patch(e.Seq, ed.Hunks) }
	case toolcall.EditDelete:
		return func(f *File) { f.Delete(e.Seq) }
	case toolcall.EditMove:
		moved := fs.origin(id, ed) >= 0
		return func(f *File) {
			if !moved { // else it is what was followed under its old name
				*f = File{}
			}
			f.Patch(e.Seq, ed.Hunks)
		}
	}
	return nil
}

// stray is what a call does to a file that it does not name: nothing, or it is not known.
func (fs *Files) stray(e *ledger.Entry) func(*File) {
	switch {
	case e.Command == "" && (e.Kind == toolcall.CallNet || len(e.Paths) > 0):
		return nil
	case e.Command == "":
		return loses(e, "what it changed is not known: "+text.OneLine(e.Tool+" "+e.Args, 80))
	}
	script, literal := toolcall.Script(fs.call(e))
	if toolcall.ScriptKeeps(script, literal) {
		return nil
	}
	return loses(e, "it may have changed it: "+text.OneLine(e.Args, 80))
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
