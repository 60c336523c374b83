package page

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/filestate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// fileNow is a file as it was read again.
type fileNow struct {
	text string
	err  error
}

// How a file that was read again is to what the conversation has of it.
const (
	nowOther   = "; it has changed since, this is how it is now"
	nowUnknown = "; this is how it is now"
	nowGone    = "; it is no longer there"
)

// again reads a file once more, once for all pages of a plan, and notes how it is to txt, what the conversation has
// of it. It returns txt if that is still so, or if the file cannot be read.
func (in *input) again(f *seenFile, txt string) string {
	now, ok := in.now[f.full]
	if !ok {
		data, err := in.ReadFile(in.Ctx, f.full)
		now = fileNow{filestate.Lines(string(data)), err}
		if in.now == nil {
			in.now = make(map[string]fileNow)
		}
		in.now[f.full] = now
	}
	known, whole := in.follow(f), f.part.Whole()
	f.checked = true
	switch {
	case errors.Is(now.err, fs.ErrNotExist):
		f.now, f.gone = nowGone, true
		return ""
	case now.err != nil:
		f.checked = false
		return txt
	case known.Certain() && (now.text == known.Text || !whole && strings.Contains("\n"+now.text, "\n"+known.Text)):
		return txt
	case known.Certain():
		f.now = nowOther
	default:
		f.now = nowUnknown
	}
	if whole {
		return now.text
	}
	lines := slices.Collect(strings.Lines(now.text))
	last := len(lines)
	if f.part.Last > 0 {
		last = min(last, f.part.Last)
	}
	return strings.Join(lines[min(max(f.part.First, 1)-1, last):last], "")
}

// others is the room for what comes back beside a summary besides files: in the same proportion to what is meant for
// it as the files have.
func (in *input) others() int {
	files := in.Restore.Files * in.Restore.PerFile
	if files == 0 {
		return 0
	}
	return max(in.Restore.Total-files, 0) * in.Room.Files / files
}

// loaded shows the instructions that the agent loaded and the reports of its sub-agents, the newest first.
func (in *input) loaded(room int) string {
	var skills, reports strings.Builder
	for seq := in.Ledger().Len(); seq > 0 && room > 0; seq-- {
		e := in.Ledger().Entry(seq)
		class, what := in.ended(&e)
		if class == client.Skill && slices.Contains(in.skills, e.Args) || what == "" {
			continue
		}
		head := fmt.Sprintf("### %s (call %d", what, seq)
		if h := in.Facts().Block(e.Result).Handle.String(); h != "" && in.Recall != nil {
			head += " [" + h + "]"
		}
		to, tag := &reports, "report"
		if class == client.Skill {
			to, tag = &skills, "skill"
		}
		shown := in.cut(head+")\n", tag, transcript.BlockText(in.Block(e.Result)), room)
		if to.WriteString(shown); shown != "" && class == client.Skill {
			in.skills = append(in.skills, e.Args)
		}
		room -= in.count(shown)
	}
	sections := ""
	if skills.Len() > 0 {
		sections = "## Skills loaded\n" + skills.String()
	}
	if reports.Len() > 0 {
		sections = text.JoinSections(sections, "## Reports of sub-agents\n"+reports.String())
	}
	return sections
}

// ended returns the class of a call of the stretch that loaded a skill or ran a sub-agent, and what it was about if it
// has ended with something to show.
func (in *input) ended(e *ledger.Entry) (class client.Class, what string) {
	if e.Kind != toolcall.CallOther || e.Call.Message < in.Start || e.Call.Message >= in.End {
		return class, ""
	}
	class = client.Of(e.Tool)
	if class == client.Skill && e.Outcome == toolcall.Succeeded ||
		class == client.Agent && e.Outcome != toolcall.Unanswered {
		what = fence.Line(text.OneLine(e.Tool+" "+e.Args, 80))
	}
	return class, what
}

// openState says what else was going on: notes, skills that were loaded and are not shown, children that
// have not answered.
func (in *input) openState(room int) string {
	var lines []string
	for _, n := range in.Notes {
		lines = append(lines, fmt.Sprintf("- note %s: %s", fence.Line(n.Key), text.OneLine(n.Text, 600)))
	}
	var skills []string
	for i := range in.Ledger().Entries {
		e := &in.Ledger().Entries[i]
		switch class, what := in.ended(e); {
		case class == client.Skill && what != "" && !slices.Contains(append(skills, in.skills...), e.Args):
			skills = append(skills, e.Args)
		case class == client.Agent && what == "":
			lines = append(lines,
				fmt.Sprintf("- call %d has no result yet: %s %s", e.Seq, fence.Line(e.Tool), text.OneLine(e.Args, 160)))
		}
	}
	if len(skills) > 0 {
		lines = append(lines, "- skills loaded: "+fence.Line(strings.Join(skills, "; ")))
	}
	var b strings.Builder
	for _, l := range lines {
		if n := in.count(l) + 1; n <= room {
			room -= n
			b.WriteString(l + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Still going on\n" + b.String()
}
