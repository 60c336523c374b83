package page

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/filestate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// files shows the files that the agent touched last, as it last saw them, in at most room
// tokens. A file that the newest turns show is left out. Each is one read or one write, with the changes
// that later calls made to it; where one of them cannot be followed, the file is left out.
func (in *input) files(room int) string {
	const title = "## Files as last seen (newest first)\n"
	if room -= in.count(title); room <= 0 {
		return ""
	}
	var b strings.Builder
	shown, newest := 0, in.newestTurn()
	for _, f := range in.touched() {
		if shown == in.Restore.Files {
			break
		}
		old := len(f.changed) > 0 || in.Ledger().Entry(f.seen).Call.Message < newest
		if in.small && old && !slices.Contains(in.Thrash, f.path) {
			continue
		}
		text := in.fileText(f, min(in.Restore.PerFile, room))
		room -= in.count(text)
		b.WriteString(text)
		if text != "" && !f.gone {
			shown++
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return title + b.String()
}

// newestTurn returns where the newest folded turn begins, or the newest quarter of the
// stretch if that is later.
func (in *input) newestTurn() int {
	i := in.End - 1
	for i >= in.Start && !in.Facts()[i].Typed {
		i--
	}
	return max(i, in.recent())
}

// seenFile is a file of the folded stretch, as the agent last saw it.
type seenFile struct {
	path    string
	full    string // with the folder that the call ran in
	touched int    // number of the newest call that touched it
	seen    int    // number of the call that showed or wrote it; 0: none
	part    toolcall.PathChange
	changed []int // calls that changed it after that
	gone    bool
	live    bool // the newest turns show it

	checked bool   // it was read again
	now     string // how it is to what was seen last; empty: the same
}

// touched lists the files that calls of the stretch read or changed, the newest first.
func (in *input) touched() []*seenFile {
	if in.seen == nil {
		in.seen = in.seenFiles()
	}
	first := func(f *seenFile) int { // what was read again and again comes first
		if slices.Contains(in.Thrash, f.path) {
			return f.touched + in.Ledger().Len()
		}
		return f.touched
	}
	return slices.SortedStableFunc(slices.Values(in.seen), func(a, b *seenFile) int { return first(b) - first(a) })
}

// seenFiles lists the files that calls of the stretch showed or wrote.
func (in *input) seenFiles() []*seenFile {
	var files fileTable[seenFile]
	for seq := in.Ledger().Recently(in.End); seq <= in.Ledger().Len(); seq++ {
		e := &in.Ledger().Entries[seq-1]
		if e.Outcome == toolcall.Failed {
			continue
		}
		if e.Command != "" && e.Effective() && !e.Harmless {
			in.stray = e.Seq
		}
		for _, p := range e.Paths {
			f := files.at(e.DirOf(p), p.Path, func() *seenFile {
				return &seenFile{path: p.Path, full: toolcall.Join(e.DirOf(p), p.Path)}
			})
			f.touch(e, p, e.Call.Message >= in.End && (in.Owes == nil || !in.Owes(e.Result)))
			for _, inside := range files.deleted(e, p) {
				inside.gone = true
			}
		}
	}
	dirs := make(map[string]bool)
	for _, f := range files.list {
		dirs[path.Dir(toolcall.CleanPath(f.path))] = true
	}
	return slices.DeleteFunc(files.list, func(f *seenFile) bool {
		return f.seen == 0 || f.gone || f.live || dirs[toolcall.CleanPath(f.path)] ||
			in.Ledger().Entry(f.seen).Call.Message < in.Start
	})
}

// touch notes a call that reads or changes the file.
func (f *seenFile) touch(e *ledger.Entry, p toolcall.PathChange, live bool) {
	f.touched = e.Seq
	switch shows := len(e.Paths) == 1 && !p.Some && !e.Unchanged; {
	case p.Change == toolcall.CallDelete:
		f.gone = true
	case p.Change == toolcall.CallRead && e.Kind == toolcall.CallRead && shows:
		if p.Whole() || f.seen == 0 || len(f.changed) > 0 || !f.part.Whole() {
			f.see(e.Seq, p, live)
		}
	case p.Change == toolcall.CallCreate && shows && e.Command == "":
		f.see(e.Seq, p, live)
	case p.Changes():
		f.gone = false
		f.changed = append(f.changed, e.Seq)
	}
}

func (f *seenFile) see(seq int, p toolcall.PathChange, live bool) {
	f.seen, f.part, f.changed, f.gone, f.live = seq, p, nil, false, live
}

// leastRestored is the least room in which the beginning of a longer file is worth
// showing; below it only whole files are.
const leastRestored = 1_000

// fileText returns a file as the page shows it, empty if there is no room for it.
func (in *input) fileText(f *seenFile, room int) string {
	e := in.Ledger().Entry(f.seen)
	txt := in.seenText(&e)
	if len(f.changed) > 0 {
		txt = in.changedText(f)
	}
	if in.ReadFile != nil {
		txt = in.again(f, txt)
	}
	if head := in.fileHead(f, &e); f.gone && in.count(head) <= room {
		return head
	}
	return in.cut(in.fileHead(f, &e), "file", txt, room)
}

// cut writes a text under a heading, and no more than its beginning if there is no room for all of it; empty if there
// is not even room for that.
func (in *input) cut(head, tag, txt string, room int) string {
	if strings.TrimSpace(txt) == "" {
		return ""
	}
	rest, used := "", in.count(head)+fence.Tokens
	if len(txt) > 16*room { // no need to count
		if room < leastRestored {
			return ""
		}
		txt = text.CutText(txt, 16*room)
	}
	if n := in.count(txt); n > room-used {
		if room < leastRestored {
			return ""
		}
		rest = "[… the rest is not shown …]\n"
		whole, size := txt, len(txt)*(room-used-12)/n
		for ; ; size = size * 4 / 5 { // the beginning may have more tokens than the rest
			if txt = text.FirstLines(whole, size); in.count(txt+"\n"+rest) <= room-used {
				break
			}
			if !in.beside || size < 80 {
				return ""
			}
		}
	}
	return head + fence.Block(tag, strings.TrimRight(txt, "\n")) + "\n" + rest
}

// seenText returns what the call showed or wrote.
func (in *input) seenText(e *ledger.Entry) string {
	if e.Kind == toolcall.CallRead {
		if e.Outcome != toolcall.Succeeded {
			return ""
		}
		return annotate.Output(transcript.BlockText(in.Block(e.Result)))
	}
	call, ok := in.Block(e.Call).(transcript.ToolCall)
	if !ok {
		return ""
	}
	return toolcall.ArgText(call, "content", "contents", "file_text", "text")
}

// changedText returns what calls made of what the agent last saw of the file; empty if it is not known.
func (in *input) changedText(f *seenFile) string {
	now := in.follow(f)
	if !now.Certain() {
		return ""
	}
	if f.part.Last > 0 {
		f.part.Last = max(f.part.First, 1) + strings.Count(now.Text, "\n") - 1
	}
	return now.Text
}

// follow returns what is known of a file from what the agent last saw of it and the changes since.
func (in *input) follow(f *seenFile) *filestate.File {
	if in.followed == nil {
		in.followed = filestate.Of(in.Reading, in.Ledger(), nil)
	}
	return in.followed.Followed(append([]int{f.seen}, f.changed...)...)
}

func (in *input) fileHead(f *seenFile, e *ledger.Entry) string {
	var b strings.Builder
	ref := e.Call
	verb := "written"
	if e.Kind == toolcall.CallRead {
		ref, verb = e.Result, "read"
	}
	fmt.Fprintf(&b, "### %s (", f.path)
	if f.part.First > 1 || f.part.Last > 0 {
		fmt.Fprintf(&b, "lines %d–", max(f.part.First, 1))
		if f.part.Last > 0 {
			fmt.Fprintf(&b, "%d", f.part.Last)
		}
		b.WriteString(", ")
	}
	fmt.Fprintf(&b, "%s in call %d", verb, e.Seq)
	if h := in.Facts().Block(ref).Handle.String(); h != "" && in.Recall != nil {
		fmt.Fprintf(&b, " [%s]", h)
	}
	last := f.seen
	if n := len(f.changed); n > 0 {
		last = f.changed[n-1]
		fmt.Fprintf(&b, ", with the changes up to call %d", last)
	}
	if b.WriteString(f.now); in.beside && in.stray > last && !f.checked {
		fmt.Fprintf(&b, "; call %d ran later and may have changed it", in.stray)
	}
	b.WriteString(")\n")
	return b.String()
}
