package pleat

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// files brings back what the agent was working with: the files that it touched last, as
// it last saw them, in at most room tokens. A file that the newest turns show is left
// out. Nothing is put together from pieces: what stands here is one read or one write,
// and where the file was changed after it, that is said.
func (in *pageInput) files(room int) string {
	const title = "## Files as last seen (newest first)\n"
	if room -= in.s.count.CountText(title); room <= 0 {
		return ""
	}
	var b strings.Builder
	shown, newest := 0, in.newestTurn()
	for _, f := range in.touched() {
		if shown == in.restore.Files {
			break
		}
		if in.small && !slices.Contains(in.thrash, f.path) && (len(f.changed) > 0 || in.s.ledger.Entry(f.seen).Call.Message < newest) {
			continue
		}
		text := in.fileText(&f, min(in.restore.PerFile, room))
		if text == "" {
			continue
		}
		room -= in.s.count.CountText(text)
		b.WriteString(text)
		shown++
	}
	if shown == 0 {
		return ""
	}
	return title + b.String()
}

// newestTurn is where the newest folded turn begins, or the newest quarter of the stretch
// if that is later.
func (in *pageInput) newestTurn() int {
	for i := in.end - 1; i >= in.start; i-- {
		if in.s.facts[i].typed {
			return max(i, in.recent())
		}
	}
	return in.recent()
}

// seenFile is a file of the folded stretch, as the agent last saw it.
type seenFile struct {
	path    string
	touched int // number of the newest call that touched it
	seen    int // number of the call that showed or wrote it; 0: none
	part    PathChange
	changed []int // calls that changed it after that
	gone    bool
	live    bool // the newest turns show it
}

// touched lists the files that calls of the stretch read or changed, the newest first.
func (in *pageInput) touched() []seenFile {
	var table pathTable
	var list []*seenFile
	at := make(map[int]*seenFile)
	for seq := 1; seq <= in.s.ledger.Len(); seq++ {
		e := in.s.ledger.Entry(seq)
		if e.Outcome == Failed {
			continue
		}
		for _, p := range e.Paths {
			id := table.file(e.Dir, p.Path)
			f := at[id]
			if f == nil {
				f = &seenFile{path: p.Path}
				at[id] = f
				list = append(list, f)
			}
			f.touch(&e, p, e.Call.Message >= in.end)
		}
	}
	dirs := make(map[string]bool)
	for _, f := range list {
		dirs[path.Dir(cleanPath(f.path))] = true
	}
	out := make([]seenFile, 0, len(list))
	for _, f := range list {
		if f.seen > 0 && !f.gone && !f.live && !dirs[cleanPath(f.path)] && in.s.ledger.Entry(f.seen).Call.Message >= in.start {
			out = append(out, *f)
		}
	}
	first := func(f seenFile) int { // what was read again and again comes first
		if slices.Contains(in.thrash, f.path) {
			return f.touched + in.s.ledger.Len()
		}
		return f.touched
	}
	slices.SortStableFunc(out, func(a, b seenFile) int { return first(b) - first(a) })
	return out
}

// touch takes a call into account that reads or changes the file.
func (f *seenFile) touch(e *LedgerEntry, p PathChange, live bool) {
	f.touched = e.Seq
	switch shows := len(e.Paths) == 1 && !p.Some && !e.Unchanged; {
	case p.Change == CallDelete:
		f.gone = true
	case p.Change == CallRead && e.Kind == CallRead && shows:
		if p.whole() || f.seen == 0 || len(f.changed) > 0 || !f.part.whole() {
			f.see(e.Seq, p, live)
		}
	case p.Change == CallCreate && shows && e.Command == "":
		f.see(e.Seq, p, live)
	case p.changes():
		f.gone = false
		f.changed = append(f.changed, e.Seq)
	}
}

func (f *seenFile) see(seq int, p PathChange, live bool) {
	f.seen, f.part, f.changed, f.gone, f.live = seq, p, nil, false, live
}

// leastRestored is the least room in which the beginning of a longer file is worth
// showing; below it only whole files are.
const leastRestored = 1_000

// fileText is a file as it stands on the page, empty if there is no room for it.
func (in *pageInput) fileText(f *seenFile, room int) string {
	e := in.s.ledger.Entry(f.seen)
	text := in.seenText(&e)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	head := in.fileHead(f, &e)
	used := in.s.count.CountText(head) + 2
	if len(text) > 16*room { // no need to count
		if room < leastRestored {
			return ""
		}
		text = cutText(text, 16*room)
	}
	if n := in.s.count.CountText(text); n > room-used {
		if room < leastRestored {
			return ""
		}
		text = firstLines(text, len(text)*(room-used-12)/n) + "\n[… the rest is not shown …]"
		if in.s.count.CountText(text) > room-used {
			return ""
		}
	}
	return head + strings.TrimRight(text, "\n") + "\n"
}

// seenText is what the call showed or wrote.
func (in *pageInput) seenText(e *LedgerEntry) string {
	if e.Kind == CallRead {
		if e.Outcome != Succeeded {
			return ""
		}
		return withoutReminder(blockText(in.s.t.Block(e.Result)))
	}
	call, ok := in.s.t.Block(e.Call).(ToolCall)
	if !ok {
		return ""
	}
	return argText(callArgs([]byte(call.Input.String())), "content", "contents", "file_text", "text")
}

func (in *pageInput) fileHead(f *seenFile, e *LedgerEntry) string {
	var b strings.Builder
	ref := e.Call
	verb := "written"
	if e.Kind == CallRead {
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
	if h := in.s.facts[ref.Message].blocks[ref.Block].name.String(); h != "" && in.recall != nil {
		fmt.Fprintf(&b, " [%s]", h)
	}
	if n := len(f.changed); n > 0 {
		fmt.Fprintf(&b, "; STALE: changed after that in call")
		for i, seq := range f.changed[max(0, n-4):] {
			if i == 0 && n > 1 {
				b.WriteString("s")
			}
			fmt.Fprintf(&b, " %d", seq)
		}
	}
	b.WriteString(")\n")
	return b.String()
}

// openState says what else was going on: notes, skills that were loaded, children that
// have not answered.
func (in *pageInput) openState(room int, count func(string) int) string {
	var lines []string
	for _, n := range in.notes {
		lines = append(lines, fmt.Sprintf("- note %s: %s", n.Key, oneLine(n.Text, 600)))
	}
	var skills []string
	for seq := 1; seq <= in.s.ledger.Len(); seq++ {
		e := in.s.ledger.Entry(seq)
		if e.Call.Message < in.start || e.Call.Message >= in.end {
			continue
		}
		switch name := plainName(e.Tool); {
		case name == "skill" || name == "useskill" || name == "loadskill":
			if e.Outcome == Succeeded && !slices.Contains(skills, e.Args) {
				skills = append(skills, e.Args)
			}
		case isChild(e.Tool) && e.Outcome == Unanswered:
			lines = append(lines, fmt.Sprintf("- call %d has no result yet: %s %s", e.Seq, e.Tool, oneLine(e.Args, 160)))
		}
	}
	if len(skills) > 0 {
		lines = append(lines, "- skills loaded: "+strings.Join(skills, "; "))
	}
	var b strings.Builder
	for _, l := range lines {
		if n := count(l) + 1; n <= room {
			room -= n
			b.WriteString(l + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Still going on\n" + b.String()
}
