package filestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

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
