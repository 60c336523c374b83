package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// ledgerDetail says how much a rendering of the ledger shows.
type ledgerDetail struct {
	reads    readDetail
	repeats  bool // each run of a command on its own line, not only the last
	changes  bool // each change on its own line, not one entry for each file
	commands int  // most lines for commands and failures
	width    int  // most bytes of a line's arguments and of its error
	compact  bool // one line for each state of files, common directories taken together
	paths    int  // most changed files to name
	ends     bool // of a long path the end is shown
}

// readDetail says how calls that only look are shown.
type readDetail uint8

const (
	readsCounted readDetail = iota
	readsNamed              // the files, once each, in one line
	readsEach
)

const unlimited = 1 << 30

// ledgerDetails are the steps in which the ledger gets shorter. What matters least goes
// first: reads, then all but the latest outcome of a command, then all but one entry for
// each changed file, then old commands. The changed files stay to the end.
var ledgerDetails = []ledgerDetail{
	{readsEach, true, true, unlimited, toolcall.MaxArgs, false, unlimited, false},
	{readsNamed, true, true, unlimited, 160, false, unlimited, false},
	{readsNamed, false, true, unlimited, 120, false, unlimited, false},
	{readsNamed, false, false, unlimited, 120, false, unlimited, false},
	{readsNamed, false, false, unlimited, 120, true, unlimited, false},
	{readsCounted, false, false, unlimited, 100, true, unlimited, false},
}

// RenderOptions say what of the ledger [Ledger.Render] writes, and how.
type RenderOptions struct {
	UpTo   int              // only calls in messages before this one; 0: none
	Budget int              // tokens; 0, or too few for anything else: only counts are written
	Names  int              // tokens that the names of changed files may take, if more than Budget
	Count  func(string) int // counts tokens; nil: a quarter of the bytes
	// Answer returns what a call that [Publishes] got back; nil: answers are not shown.
	Answer func(e *Entry) string
	Brief  bool // no line for each change and no full paths: the page has them elsewhere
	// Effects: only what may have changed something; empty if nothing may have.
	Effects bool
	// Facts, those of the conversation, end lines of calls with handles, which lead to what the call
	// did or showed; nil: only the entries' own. What fits is decided without them.
	Facts transcript.Facts
}

// filesDetail is the first of the details that has one entry for each changed file.
const filesDetail = 3

// briefDetail is the first of the details that has one entry for each changed file and
// takes common directories together.
const briefDetail = 4

// effectsDetail is that which only counts calls that look at something.
const effectsDetail = 5

// Render writes the record of the calls for a model to read. Everything that may have
// changed something and every failure has its line as long as there is room; queries find
// the rest. Every changed file is named, even if nothing else fits; only if the names alone
// are too many are the oldest merely counted, by folder.
//
// The text is a pure function of the ledger and the options. It is empty if there is no
// call.
func (l *Ledger) Render(o RenderOptions) string {
	return l.Record(o.UpTo, o.Brief || o.Effects).Render(o)
}

// Render is [Ledger.Render] for what the record was prepared for.
func (r *Record) Render(o RenderOptions) string {
	if len(r.entries) == 0 {
		return ""
	}
	if o.Count == nil {
		o.Count = func(s string) int { return (len(s) + 3) / 4 }
	}
	w := *r
	w.answer, w.effects = o.Answer, o.Effects
	w.limit = 16 * o.Budget // bytes: no text of that length can fit
	fits := func(s string) bool { return len(s) <= w.limit && o.Count(s) <= o.Budget }
	details := ledgerDetails
	switch {
	case o.Effects && len(r.groups)+len(r.changed) == 0:
		return ""
	case o.Effects:
		details = details[effectsDetail:]
	case o.Brief:
		details = details[briefDetail:]
	case w.older > 0:
		details = details[filesDetail:]
	}
	for _, d := range details {
		if d.reads == readsCounted && len(w.groups)+len(w.changed) == 0 { // else nothing would be named
			some := d
			some.reads = readsNamed
			named := func(n int) string { w.looked = n; return w.text(some) }
			if n, s := largest(len(w.read), named, fits); n > 0 {
				return s
			}
		}
		if s := w.text(d); fits(s) {
			return w.leading(s, d, o.Facts)
		}
	}
	d := ledgerDetail{width: shortCommand, compact: true, paths: unlimited}
	if n, s := largest(len(w.groups), func(n int) string { d.commands = n; return w.text(d) }, fits); s != "" {
		d.commands = n
		return w.leading(s, d, o.Facts)
	}
	d.commands, o.Budget = 0, max(o.Budget, o.Names)
	w.limit = 16 * o.Budget
	for _, w.folders = range []int{maxFolders, 0} {
		if _, s := largest(len(w.changed), func(n int) string { d.paths = n; return w.text(d) }, fits); s != "" {
			return s
		}
	}
	d.paths = 0
	return w.text(d)
}

// largest is the greatest n up to limit for which text(n) fits, and that text, which is empty
// if none does.
func largest(limit int, text func(n int) string, fits func(string) bool) (n int, best string) {
	for low, high, step := 0, limit, 0; low <= high; {
		mid := (low + high) / 2
		if step >= 0 { // from below in growing steps: short texts are cheap to try
			mid = min(low+step, high)
			step = 2*step + 1
		}
		if s := text(mid); fits(s) {
			n, best, low = mid, s, mid+1
		} else {
			high, step = mid-1, -1
		}
	}
	return n, best
}

// leading is a text that was written in some detail, with handles if there are any.
func (w *Record) leading(plain string, d ledgerDetail, facts transcript.Facts) string {
	if facts == nil {
		return plain
	}
	w.facts, w.limit = facts, unlimited
	return w.text(d)
}

// text writes the ledger in one degree of detail.
func (w *Record) text(d ledgerDetail) string {
	var b strings.Builder
	b.WriteString(w.heading())
	hidden := 0
	if d.changes {
		hidden += w.timeline(&b, d)
	} else {
		w.files(&b, d)
		hidden += w.commands(&b, d)
	}
	w.reads(&b, d)
	if hidden > 0 {
		fmt.Fprintf(&b, "%d calls are only counted or summed up here; "+
			"the ledger tool lists them by path, tool, kind, outcome or number.\n", hidden)
	}
	return b.String()
}

func (w *Record) heading() string {
	var kinds, ends []string
	for _, k := range w.counts.Kinds {
		kinds = append(kinds, fmt.Sprintf("%d %s", k.Count, k.Name))
	}
	for _, o := range w.counts.Outcomes {
		switch o.Name {
		case toolcall.Failed.String():
			ends = append(ends, fmt.Sprintf("; %d failed", o.Count))
		case toolcall.Unanswered.String():
			ends = append(ends, fmt.Sprintf("; %d without a result", o.Count))
		case toolcall.Running.String():
			ends = append(ends, fmt.Sprintf("; %d started in the background", o.Count))
		}
	}
	return fmt.Sprintf("%d tool calls: %s%s.\n", w.counts.Calls, strings.Join(kinds, ", "), strings.Join(ends, ""))
}

// timeline writes the calls in their order. It returns how many have no line.
func (w *Record) timeline(b *strings.Builder, d ledgerDetail) (hidden int) {
	latest := map[int]callGroup{}
	for _, g := range w.groups {
		latest[g.last] = g
	}
	for i := 0; i < len(w.entries) && b.Len() <= w.limit; i++ {
		e := &w.entries[i]
		switch {
		case w.hasLine(e):
			g, isLast := latest[i]
			if d.repeats {
				g = callGroup{last: i, calls: 1}
			} else if !isLast {
				hidden++
				continue
			}
			w.line(b, g, d)
		case IsFileCall(e) && (d.repeats || e.Outcome != toolcall.Failed) || d.reads == readsEach:
			w.line(b, callGroup{last: i, calls: 1}, d)
		default:
			hidden++
		}
	}
	return hidden
}

// commands writes the most important groups that there is room for, in the order of the
// calls. It returns how many calls have no line of their own.
func (w *Record) commands(b *strings.Builder, d ledgerDetail) int {
	shown := slices.Sorted(slices.Values(w.order[:min(len(w.order), d.commands)]))
	for _, i := range shown {
		if w.line(b, w.groups[i], d); b.Len() > w.limit {
			break // it does not fit
		}
	}
	if d.reads == readsCounted && !w.effects {
		return w.older + len(w.entries) - len(shown)
	}
	return w.older + w.lines - len(shown)
}

// reads names the files that were only looked at, the newest if there is no room for all.
func (w *Record) reads(b *strings.Builder, d ledgerDetail) {
	more := max(len(w.read)-w.looked, 0)
	if d.reads != readsNamed || len(w.read) == more {
		return
	}
	names := make([]string, 0, len(w.read)-more)
	for _, s := range w.read[more:] {
		names = append(names, s.Path)
	}
	fmt.Fprintf(b, "Only looked at: %s", joinPaths(names))
	if more > 0 {
		fmt.Fprintf(b, ", and before them at %s", text.Plural(more, "other file"))
	}
	b.WriteString("\n")
}
