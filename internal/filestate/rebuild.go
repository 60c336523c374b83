package filestate

import (
	"fmt"
	"slices"
	"sort"
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
	calls  [][]touch // by call: the files that it names
	names  []string  // by file: its longest spelling
	spoken []int     // messages in which people spoke
}

// touch is a file that a call names.
type touch struct {
	file int
	toolcall.PathChange
}

// Of finds the files that the calls of a conversation name. spoken are the messages in which
// people spoke, in order: they may change files before they do.
func Of(from Reader, l *ledger.Ledger, spoken []int) *Files {
	fs := &Files{from: from, ledger: l, spoken: spoken, calls: make([][]touch, l.Len())}
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

// At returns what a file contains after a call; 0: after the newest one, and now.
func (fs *Files) At(id, call int) *File {
	f := &File{}
	for i := range fs.ledger.Entries {
		if call > 0 && i >= call {
			return f
		}
		fs.hear(f, i)
		fs.step(f, id, &fs.ledger.Entries[i])
	}
	fs.hear(f, fs.ledger.Len())
	return f
}

// Followed returns the file that the first of calls shows or writes, and no other, as the others leave it, as
// if nothing else had changed it since. Of a part it follows only what replaces a text that the file has once.
func (fs *Files) Followed(calls ...int) *File {
	f, own, e := &File{}, fs.calls[calls[0]-1][0], &fs.ledger.Entries[calls[0]-1]
	fs.step(f, own.file, e)
	s, part := fs.shown(e)
	if part = part && !f.Whole && !own.PathChange.Whole(); part {
		f.Write(e.Seq, s.Text)
	}
	for _, seq := range calls[1:] {
		e = &fs.ledger.Entries[seq-1]
		fs.step(f, own.file, e)
		more := func(ed toolcall.Edit) bool { return ed.Kind != toolcall.EditReplace || ed.All }
		if part && slices.ContainsFunc(fs.editsOf(own.file, e), more) {
			f.lost(seq, "where it changed it is not known")
		}
	}
	return f
}

// hear ends the certainty about a file if people spoke between two calls, the second of which has index i.
func (fs *Files) hear(f *File, i int) {
	if i == 0 {
		return
	}
	k := sort.SearchInts(fs.spoken, fs.ledger.Entries[i-1].Call.Message)
	if k < len(fs.spoken) && (i == fs.ledger.Len() || fs.spoken[k] < fs.ledger.Entries[i].Call.Message) {
		why := fmt.Sprintf("the user spoke after it, in message %d, and may have changed it", fs.spoken[k]+1)
		f.Lose(Doubt{Call: i, Why: why})
	}
}

// step takes what is known of a file past a call.
func (fs *Files) step(f *File, id int, e *ledger.Entry) {
	args := text.OneLine(e.Args, 80)
	doubt := func(why string) { f.Lose(Doubt{Call: e.Seq, Why: why}) }
	own, changes, deletes := false, false, false
	for _, t := range fs.calls[e.Seq-1] {
		switch {
		case t.file == id:
			own, changes, deletes = true, changes || t.Changes(), deletes || t.Change == toolcall.CallDelete
		case t.Changes() && e.Effective() && fs.above(t.file, id):
			doubt("it changed the directory")
			return
		}
	}
	edits := fs.editsOf(id, e)
	switch {
	case own && !changes:
		fs.look(f, e)
	case !e.Effective():
		failed(f, e, edits)
	case own && e.Outcome != toolcall.Succeeded:
		doubt("how it ended is not known")
	case len(edits) > 0:
		for _, ed := range edits {
			apply(f, e.Seq, ed)
		}
	case deletes && !e.Steps:
		f.Delete(e.Seq)
	case own:
		doubt("how it changed it is not known: " + args)
	}
	if e.Effective() && !e.Harmless && fs.strays(e) {
		doubt("it may have changed it: " + strings.TrimSpace(e.Tool+" "+args))
	}
}

// above reports whether a file is a directory above another.
func (fs *Files) above(dir, id int) bool {
	name := strings.TrimSuffix(fs.names[dir], "/*")
	return strings.HasPrefix(fs.names[id], name+"/") || strings.ContainsAny(name, "*?[")
}

func (fs *Files) call(e *ledger.Entry) transcript.ToolCall {
	c, _ := fs.from.Block(e.Call).(transcript.ToolCall)
	return c
}

// look takes in what a call that only looks at the file tells.
func (fs *Files) look(f *File, e *ledger.Entry) {
	if e.Outcome == toolcall.Succeeded && e.Unchanged {
		f.Vouch()
	}
	switch s, ok := fs.shown(e); {
	case !ok:
	case s.Why == "":
		f.See(e.Seq, s.First, s.Text, s.Ended)
	case !f.Whole || strings.Trim(f.Text, "\n") != strings.Trim(s.Text, "\n"):
		f.Write(e.Seq, s.Text)
		f.lost(e.Seq, s.Why)
	}
}

// shown is what a call showed of the one file that it reads; false: nothing that can be told.
func (fs *Files) shown(e *ledger.Entry) (s shown, ok bool) {
	own := fs.calls[e.Seq-1]
	if e.Outcome != toolcall.Succeeded || e.Unchanged || e.Kind != toolcall.CallRead || len(own) != 1 || own[0].Some {
		return s, false
	}
	return shownBy(&e.CallFacts, transcript.BlockText(fs.from.Block(e.Result)))
}

// editsOf is what a call does to a file.
func (fs *Files) editsOf(id int, e *ledger.Entry) []toolcall.Edit {
	named := func(path string) bool { // one of the spellings of the file in the call
		return slices.ContainsFunc(fs.calls[e.Seq-1], func(t touch) bool {
			return t.file == id && t.Changes() &&
				(path == "" || t.Path == path || toolcall.SameFile(toolcall.Join(e.DirOf(t.PathChange), t.Path), path))
		})
	}
	if !named("") {
		return nil
	}
	return slices.DeleteFunc(toolcall.Edits(fs.call(e)), func(ed toolcall.Edit) bool { return !named(ed.Path) })
}

// failed takes in what a call that failed tells: the file is as it was, or not what it is taken for
// if the edit fits that.
func failed(f *File, e *ledger.Entry, edits []toolcall.Edit) {
	for _, ed := range edits {
		tried := *f
		tried.Doubt = Doubt{}
		if apply(&tried, e.Seq, ed); e.Command == "" && ed.Old+fmt.Sprint(ed.Hunks) != "" && tried.Doubt.Call == 0 {
			f.lost(e.Seq, "it failed although the known lines have what it changes")
		}
	}
}

// apply does an edit of a call to the file.
func apply(f *File, call int, ed toolcall.Edit) {
	switch ed.Kind {
	case toolcall.EditReplace:
		before := ed.Old
		line := plain(before) + "\n"
		if ed.Closes && ed.New == "" && !strings.HasSuffix(before, "\n") && strings.Contains(f.Text, line) {
			before = line
		}
		f.Replace(call, before, ed.New, ed.All)
	case toolcall.EditWrite:
		f.Write(call, ed.New)
	case toolcall.EditAppend:
		f.Append(call, ed.New)
	case toolcall.EditInsert:
		f.Insert(call, ed.Line, ed.New)
	case toolcall.EditPatch:
		f.Patch(call, ed.Hunks)
	case toolcall.EditDelete:
		f.Delete(call)
	case toolcall.EditMove: // of the old name nothing is taken over
		*f = File{}
	}
}

// strays reports whether a call may change files that it does not name.
func (fs *Files) strays(e *ledger.Entry) bool {
	if e.Command == "" {
		return e.Kind != toolcall.CallNet && len(e.Paths) == 0
	}
	return !toolcall.ScriptKeeps(toolcall.Script(fs.call(e)))
}

// Changes writes the calls up to a number that changed a file (0: all of them), in order.
func (fs *Files) Changes(id, call int) string {
	var b strings.Builder
	for i := range fs.ledger.Entries {
		e := &fs.ledger.Entries[i]
		changes := func(t touch) bool { return t.file == id && t.Changes() }
		if (call == 0 || i < call) && e.Effective() && slices.ContainsFunc(fs.calls[i], changes) {
			fmt.Fprintf(&b, "# call %d: %s\n%s", e.Seq, e.Tool, fed(toolcall.Text(fs.call(e).Input.String())))
		}
	}
	return b.String()
}
