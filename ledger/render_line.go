package ledger

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// line writes one call, or the newest of several that are the same.
func (w *Record) line(b *strings.Builder, g callGroup, d ledgerDetail) {
	e := &w.entries[g.last]
	fmt.Fprintf(b, "#%d %s", e.Seq, CallLabel(e))
	args, width := w.args(g, d)
	if args != "" {
		b.WriteString(" " + args)
	}
	if names := e.unnamed(args); len(names) > 0 && d.changes { // cut off the line, but a change must be named
		fmt.Fprintf(b, " (changes %s)", joinPaths(names))
	}
	b.WriteString(g.times())
	b.WriteString(w.ending(e, width))
	b.WriteString(e.later())
	named := *e
	if w.facts != nil {
		named = e.Named(w.facts)
	}
	if handle := named.Handle; handle != "" {
		if named.ResultHandle != "" {
			handle += ", result " + named.ResultHandle
		}
		b.WriteString(" [" + handle + "]")
	}
	b.WriteByte('\n')
}

const (
	shortCommand = 64 // bytes of a command that tell it from others
	maxFolder    = 24 // more of them where it first goes to a folder
)

// args returns the arguments of a group's newest call, and how many bytes they, and an
// error, may take.
func (w *Record) args(g callGroup, d ledgerDetail) (args string, width int) {
	e := &w.entries[g.last]
	args, width = e.Args, d.width
	if w.answer != nil && Publishes(e) {
		width *= 2 // what was said to others
		if strings.Contains(e.Command, "git ") {
			width = max(width/4, shortCommand) // the answer says it
		}
	}
	if e.Command != "" {
		if g.calls > 1 {
			args = e.Command
		}
		args = strings.ReplaceAll(args, " 2>&1", "") // how it ended is told either way
		if cd, _, ok := strings.Cut(args, " && "); ok && strings.HasPrefix(cd, "cd ") {
			width += min(len(cd), maxFolder)
		}
	}
	if d.ends {
		return text.ClipPath(strings.Join(strings.Fields(e.Args), " "), width), width
	}
	return text.OneLine(args, width), width
}

func (g callGroup) times() string {
	switch {
	case g.calls <= 1:
		return ""
	case g.failed > 0 && g.failed < g.calls:
		return fmt.Sprintf(" (%d times, %d failed)", g.calls, g.failed)
	}
	return fmt.Sprintf(" (%d times)", g.calls)
}

func (w *Record) ending(e *Entry, width int) string {
	switch {
	case e.Outcome == toolcall.Unanswered:
		return ": no result"
	case e.Outcome == toolcall.Running:
		return ": started in the background"
	case e.Outcome == toolcall.Failed:
		return e.failure(width) + w.totals(e)
	case e.Kind == toolcall.CallRead && e.Lines == 1:
		return ": 1 line"
	case e.Kind == toolcall.CallRead && e.Lines > 0:
		return fmt.Sprintf(": %d lines", e.Lines)
	case e.cutOff():
		return ": its end was cut off"
	case e.Harmless:
		return ""
	}
	if w.answer != nil && Publishes(e) {
		if answer := w.answer(e); answer != "" {
			return ": ok: " + answer
		}
	}
	return ": ok" + w.totals(e)
}

// totals is what a run says of how many tests passed, or problems it found.
func (w *Record) totals(e *Entry) string {
	if w.answer == nil || e.Command == "" || Publishes(e) {
		return ""
	}
	if counts := w.answer(e); counts != "" {
		return ", " + counts
	}
	return ""
}

func (e *Entry) failure(width int) string {
	told := ": failed"
	if e.ExitCode != nil && *e.ExitCode != 0 {
		told += fmt.Sprintf(" (exit %d)", *e.ExitCode)
	}
	if e.ErrorLine != "" {
		told += ": " + text.OneLine(e.ErrorLine, width)
	}
	return told
}

// later says what a later call did to what this one shows.
func (e *Entry) later() string {
	switch {
	case e.Stale():
		return fmt.Sprintf(", stale since #%d", e.SupersededBy)
	case e.Mended():
		return fmt.Sprintf(", ok in #%d", e.SupersededBy)
	case e.SupersededBy > 0:
		return fmt.Sprintf(", newer in #%d", e.SupersededBy)
	}
	return ""
}

// Listing is how a list of calls that the filter selected is shown: what it begins with, and
// the line of each.
func (l *Ledger) Listing(list []Entry, f Filter) (heading string, line func(i int) string) {
	w := &Record{entries: list, counts: l.Counts(f)}
	return w.heading(), func(i int) string {
		var b strings.Builder
		w.line(&b, callGroup{last: i, calls: 1}, ledgerDetails[0])
		return b.String()
	}
}

// Lines writes a line for each of the calls, with at most width bytes of its arguments.
func Lines(calls []Entry, width int) string {
	w := &Record{entries: calls}
	var b strings.Builder
	for i := range calls {
		w.line(&b, callGroup{last: i, calls: 1}, ledgerDetail{changes: true, width: width, ends: true})
	}
	return b.String()
}
