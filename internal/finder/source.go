package finder

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// source describes a place. It leaves out how large a stretch of messages is, which only its
// text tells.
func (f *Finder) source(p transcript.Place, handle string) recall.Source {
	src := recall.Source{Handle: handle, Message: p.Start + 1, Turn: f.turnOf(p.Start)}
	if p.Block < 0 && p.End == p.Start+1 {
		src.What = fmt.Sprintf("message %d", p.End)
		return src
	} else if p.Block < 0 {
		src.What = fmt.Sprintf("messages %d to %d", p.Start+1, p.End)
		return src
	}
	bf := &f.Facts()[p.Start].Blocks[p.Block]
	src.Call, src.Lines, src.Bytes = int(bf.Call), int(bf.Lines), int(bf.Bytes)
	src.What = f.what(p, bf)
	src.Visible = f.Shown == nil || f.Shown(transcript.BlockRef{Message: p.Start, Block: p.Block})
	if bf.Call > 0 && bf.Kind == transcript.KindToolResult {
		src.Stale = f.staleness(int(bf.Call))
	} else if bf.Call > 0 {
		src.Result = f.Ledger().Entry(int(bf.Call)).Named(f.Facts()).ResultHandle
	}
	return src
}

func (s *Finder) what(p transcript.Place, bf *transcript.BlockFacts) string {
	f := &s.Facts()[p.Start]
	switch bf.Kind {
	case transcript.KindThinking:
		return "thinking"
	case transcript.KindToolCall, transcript.KindToolResult:
		word := strings.TrimPrefix(bf.Kind.String(), "tool_")
		if bf.Call == 0 {
			return word + " of an unknown tool"
		}
		e := s.Ledger().Entry(int(bf.Call))
		return fence.Line(strings.TrimSpace(fmt.Sprintf("%s of %s %s", word, e.Tool, text.Clip(e.Args, 120))))
	case transcript.KindText:
		switch {
		case f.Role == transcript.RoleUser && !bf.Typed:
			return "text put in by a program"
		case f.Role == transcript.RoleUser && bf.Mixed:
			return "the user's words and text put in by a program"
		}
	}
	return fence.Line(string(f.Role))
}

// staleness says what made the result of a call stale, by its handle: that of a change
// itself, or of a newer result.
func (f *Finder) staleness(call int) string {
	e := f.Ledger().Entry(call)
	if e.SupersededBy == 0 {
		return ""
	}
	by := f.Ledger().Entry(e.SupersededBy)
	handle := cmp.Or(by.Named(f.Facts()).Handle, fmt.Sprintf("call %d", by.Seq))
	what := strings.TrimSpace(ledger.CallLabel(&by) + " " + text.Clip(by.Args, 80))
	return fmt.Sprintf("superseded by %s (%s)", handle, what)
}

// Call writes the call that unfolds a handle.
type Call func(handle string) string

// prefix is what the model's names for the recall tools begin with.
func (c Call) prefix() string {
	before, _, ok := strings.Cut(c(""), recall.ToolUnfold+"(")
	if !ok || strings.ContainsAny(before, " \n") { // it is told something else
		return ""
	}
	return before
}

func (c Call) with(handle string, args ...string) string {
	call, open := strings.CutSuffix(c(handle), ")")
	switch list := strings.Join(args, ", "); {
	case list == "":
		return c(handle)
	case open:
		return call + ", " + list + ")"
	default:
		return call + " " + list
	}
}

// next is the call that goes on where a page ended.
func (c Call) next(r recall.UnfoldRequest, at rest) string {
	args := []string{fmt.Sprintf(`lines="%s"`, writeRange(at.number, r.To))}
	if at.column > 1 {
		args = append(args, fmt.Sprintf("column=%d", at.column))
	}
	if r.Pattern != "" {
		args = append(args, "pattern="+strconv.Quote(r.Pattern))
	}
	if r.Raw {
		args = append(args, "raw=true")
	}
	return c.with(r.Handle, args...)
}

// writeRange writes line numbers as the tools take them: "12", "12-40", "12-".
func writeRange(from, to int) string {
	switch to {
	case from:
		return strconv.Itoa(from)
	case 0:
		return strconv.Itoa(from) + "-"
	}
	return fmt.Sprintf("%d-%d", from, to)
}
