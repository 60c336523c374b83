package recall

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Finder finds what handles stand for, and what was said.
type Finder struct {
	*conv.Conversation
	Shown   func(transcript.BlockRef) bool                 // whether the view shows a block as it is; nil: all are shown
	Call    Call                                           // how the model is told to unfold
	Content func(transcript.Place, string) (string, error) // what a handle stands for, checked against its hash
	Folded  func(handle string) bool                       // whether something was folded under the handle
}

// source describes a place. How large a stretch of messages is, only its text tells.
func (f *Finder) source(p transcript.Place, handle string) Source {
	src := Source{Handle: handle, Message: p.Start + 1, Turn: f.TurnOf(p.Start)}
	if p.Block < 0 {
		src.What = fmt.Sprintf("messages %d to %d", p.Start+1, p.End)
		return src
	}
	bf := &f.Facts[p.Start].Blocks[p.Block]
	src.Call, src.Lines, src.Bytes = int(bf.Call), int(bf.Lines), int(bf.Bytes)
	src.What = f.what(p, bf)
	src.Visible = f.Shown == nil || f.Shown(transcript.BlockRef{Message: p.Start, Block: p.Block})
	if bf.Call > 0 && bf.Kind == transcript.KindToolResult {
		src.Stale = f.staleness(int(bf.Call))
	}
	return src
}

// what says what a block is, in a few words.
func (s *Finder) what(p transcript.Place, bf *conv.BlockFacts) string {
	f := &s.Facts[p.Start]
	switch bf.Kind {
	case transcript.KindThinking:
		return "thinking"
	case transcript.KindToolCall, transcript.KindToolResult:
		word := "call"
		if bf.Kind == transcript.KindToolResult {
			word = "result"
		}
		if bf.Call == 0 {
			return word + " of an unknown tool"
		}
		e := s.Ledger.Entry(int(bf.Call))
		return strings.TrimSpace(fmt.Sprintf("%s of %s %s", word, e.Tool, text.Clip(e.Args, 120)))
	case transcript.KindText:
		if f.Role == transcript.RoleUser && !f.Typed {
			return "text put in by a program"
		}
	}
	return string(f.Role)
}

// staleness says what made the result of a call stale.
func (f *Finder) staleness(call int) string {
	e := f.Ledger.Entry(call)
	if e.SupersededBy == 0 {
		return ""
	}
	by := f.Ledger.Entry(e.SupersededBy)
	text := fmt.Sprintf("superseded by call %d (%s)", by.Seq, strings.TrimSpace(ledger.CallLabel(&by)+" "+text.Clip(by.Args, 80)))
	if by.Outcome != toolcall.Unanswered {
		if h := f.Facts[by.Result.Message].Blocks[by.Result.Block].Name.String(); h != "" {
			text += ", result " + h
		}
	}
	return text
}

// Call writes the call that unfolds a handle.
type Call func(handle string) string

// with adds arguments to the call.
func (c Call) with(handle string, args ...string) string {
	call, open := strings.CutSuffix(c(handle), ")")
	if len(args) == 0 {
		return c(handle)
	}
	if !open {
		return call + " " + strings.Join(args, ", ")
	}
	return call + ", " + strings.Join(args, ", ") + ")"
}

// next is the call that goes on where a page ended.
func (c Call) next(r UnfoldRequest, at rest) string {
	var args []string
	if r.Offset > 0 || r.Length > 0 {
		to := ""
		if r.Length > 0 {
			to = strconv.Itoa(r.Offset + r.Length)
		}
		args = append(args, fmt.Sprintf(`bytes="%d-%s"`, at.from, to))
	} else {
		args = append(args, fmt.Sprintf(`lines="%s"`, writeRange(at.line+1, r.To)))
		if at.column > 1 {
			args = append(args, fmt.Sprintf("column=%d", at.column))
		}
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

// render writes the line with its number. A part of a line says which.
func (l Line) render() string {
	if l.whole() {
		return strconv.Itoa(l.Number) + "\t" + l.Text + "\n"
	}
	return fmt.Sprintf("%d[%d-%d of %d]\t%s\n", l.Number, l.Column, l.Column+len(l.Text)-1, l.Size, l.Text)
}

// Text tells it to a model: what it is, the lines with their numbers, and how to get the
// rest.
func (u Unfolded) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sunfold %s]\n", mark, u.Source)
	writeLines(&b, u.Shown)
	b.WriteString(u.footer())
	return b.String()
}

// recallMark begins what the recall tools answer.
const mark = "[pleat "

// writeLines writes lines with their numbers. Where lines are left out between them it
// says so.
func writeLines(b *strings.Builder, lines []Line) {
	last := 0
	for _, l := range lines {
		if last > 0 && l.Number > last+1 {
			b.WriteString("…\n")
		}
		b.WriteString(l.render())
		last = l.Number
	}
}

// footer says how much of it was shown, unless it was all.
func (u *Unfolded) footer() string {
	var notes []string
	if u.Matches > 0 {
		notes = append(notes, text.Plural(u.Matches, "line")+" match")
	}
	switch {
	case len(u.Shown) == 0 && u.Bytes == 0:
		notes = append(notes, "it is empty")
	case len(u.Shown) == 0:
		notes = append(notes, "no line matches")
	case u.More != "":
		notes = append(notes, "more: "+u.More)
	}
	if len(notes) == 0 {
		return ""
	}
	return "[" + strings.Join(notes, "; ") + "]\n"
}

// String names the source on one line.
func (s Source) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", s.Handle, s.What)
	if s.Call > 0 {
		fmt.Fprintf(&b, ", call %d", s.Call)
	}
	fmt.Fprintf(&b, ", message %d, turn %d, %s, %s", s.Message, s.Turn, text.Plural(s.Lines, "line"), text.Plural(s.Bytes, "byte"))
	if s.Stale != "" {
		b.WriteString("; " + s.Stale)
	}
	return b.String()
}
