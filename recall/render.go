package recall

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
)

// render writes the line with its number. A part of a line says which. What else may pass for the
// end of a line is written as an escape, so that nothing stands on a line without a number.
func (l Line) render() string {
	shown := fence.Shown(l.Text)
	number := strconv.Itoa(l.Number)
	if l.Column == 1 && len(l.Text) == l.Size {
		return number + "\t" + shown + "\n"
	}
	return fmt.Sprintf("%s[%d-%d of %d]\t%s\n", number, l.Column, l.Column+len(l.Text)-1, l.Size, shown)
}

// Text is what a model reads: what it is, the lines with their numbers, and how to get the
// rest.
func (u Unfolded) Text() string {
	return fmt.Sprintf("%sunfold %s%s]\n", fence.Answer, u.Source, u.File.certainty()) + TextOf(u.Shown) + u.footer()
}

// TextOf writes lines with their numbers, and an ellipsis where lines are left out.
func TextOf(lines []Line) string {
	var b strings.Builder
	last := 0
	for _, l := range lines {
		if last > 0 && l.Number > last+1 {
			b.WriteString("…\n")
		}
		b.WriteString(l.render())
		last = l.Number
	}
	return b.String()
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
	return noteLine(notes)
}

// noteLine is a line of notes at the end of an answer; empty if there are none.
func noteLine(notes []string) string {
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
	if s.Result != "" {
		b.WriteString(", result " + s.Result)
	}
	fmt.Fprintf(&b, ", message %d, turn %d, %s, %s",
		s.Message, s.Turn, text.Plural(s.Lines, "line"), text.Plural(s.Bytes, "byte"))
	if s.Stale != "" {
		b.WriteString("; " + s.Stale)
	}
	return b.String()
}
