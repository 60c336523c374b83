package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
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
	// Handle returns what a line of a call ends with, so that it leads to what the call did or
	// showed; nil: only the entries' own. What fits is decided without it.
	Handle func(e *Entry) string
}

// filesDetail is the first of the details that has one entry for each changed file.
const filesDetail = 3

// briefDetail is the first of the details that has one entry for each changed file and
// takes common directories together.
const briefDetail = 4

// Render writes the record of the calls for a model to read. Everything that may have
// changed something and every failure has its line as long as there is room; queries find
// the rest. Every changed file is named, even if nothing else fits; only if the names alone
// are too many are the oldest merely counted, by folder.
//
// The text is a pure function of the ledger and the options. It is empty if there is no
// call.
func (l *Ledger) Render(o RenderOptions) string { return l.Record(o.UpTo, o.Brief).Render(o) }

// Record is what all renderings of the calls up to one message share. It is out of date when
// the ledger has changed.
type Record struct{ w *ledgerWriter }

// Record prepares renderings with these options.
func (l *Ledger) Record(upTo int, brief bool) *Record {
	n := l.firstIn(upTo)
	if n == 0 {
		return &Record{}
	}
	return &Record{newLedgerWriter(l, n, brief)}
}

// Render is [Ledger.Render] for what the record was prepared for.
func (r *Record) Render(o RenderOptions) string {
	if r.w == nil {
		return ""
	}
	if o.Count == nil {
		o.Count = func(s string) int { return (len(s) + 3) / 4 }
	}
	w := *r.w
	w.answer = o.Answer
	w.limit = 16 * o.Budget // bytes: no text of that length can fit
	fits := func(s string) bool { return len(s) <= w.limit && o.Count(s) <= o.Budget }
	details := ledgerDetails
	switch {
	case o.Brief:
		details = details[briefDetail:]
	case w.older > 0:
		details = details[filesDetail:]
	}
	for _, d := range details {
		if s := w.text(d); fits(s) {
			return w.leading(s, d, o.Handle)
		}
	}
	d := ledgerDetail{width: shortCommand, compact: true, paths: unlimited}
	if n, s := largest(len(w.groups), func(n int) string { d.commands = n; return w.text(d) }, fits); s != "" {
		d.commands = n
		return w.leading(s, d, o.Handle)
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

// maxFolders is how many folders of files are listed that are not named.
const maxFolders = 12

// ledgerWriter holds what all renderings of one ledger share.
type ledgerWriter struct {
	entries []Entry // the newest, which may have lines
	older   int     // calls before them: they are counted, and their files are named
	lines   int     // entries that have a line, or a file in the list of files
	changed []PathState
	dirs    []string // folders of the changed files
	dir     []int    // of each changed file, its place in dirs
	sorted  []int    // changed files by their path
	named   map[namedFiles]string
	read    []PathState
	groups  []callGroup
	counts  Counts
	order   []int // groups, most important first, for when not all fit
	answer  func(e *Entry) string
	handle  func(e *Entry) string
	brief   bool
	limit   int
	folders int // most folders of changed files that are not named
}

// callGroup is a command, or a failed call, with its repeats.
type callGroup struct {
	last          int // index of the newest whose end was seen, or else of the first
	calls, failed int
}

// newLedgerWriter prepares renderings of the first n calls.
func newLedgerWriter(l *Ledger, n int, brief bool) *ledgerWriter {
	old := l.settled(n)
	w := &ledgerWriter{brief: brief, entries: l.Entries[max(n-Recent, 0):n], older: max(n-Recent, 0)}
	calls, files := old.calls.clone(), old.files.clone()
	for i := old.n; i < n; i++ {
		calls.add(&l.Entries[i])
		files.add(&l.Entries[i])
	}
	w.counts = calls.counts()
	w.changed, w.read = files.states()
	at := map[string]int{}
	for i := range w.entries {
		e := &w.entries[i]
		own := w.hasLine(e)
		if own || IsFileCall(e) {
			w.lines++
		}
		if !own {
			continue
		}
		key := e.Signature
		if e.Command != "" {
			key = e.Dir + "\x00" + e.Command
		}
		g, seen := at[key]
		if !seen {
			g = len(w.groups)
			at[key] = g
			w.groups = append(w.groups, callGroup{})
		}
		if w.groups[g].calls == 0 || e.Outcome == toolcall.Failed || !e.cutOff() {
			w.groups[g].last = i
		}
		w.groups[g].calls++
		if e.Outcome == toolcall.Failed {
			w.groups[g].failed++
		}
	}
	slices.SortFunc(w.groups, func(a, b callGroup) int { return a.last - b.last })
	w.order = w.byWeight()
	w.named = make(map[namedFiles]string)
	w.sorted = byPath(w.changed)
	known := map[string]int{}
	for _, s := range w.changed {
		name := s.Path[:strings.LastIndexAny(s.Path, slashes)+1]
		k, ok := known[name]
		if !ok {
			k = len(w.dirs)
			known[name], w.dirs = k, append(w.dirs, name)
		}
		w.dir = append(w.dir, k)
	}
	return w
}

// namedFiles is what the list of changed files depends on. Renderings try several.
type namedFiles struct{ paths, folders int }

// byPath lists the places of files in the order of their paths.
func byPath(list []PathState) []int {
	sorted := make([]int, len(list))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(list[a].Path, list[b].Path) })
	return sorted
}

// alwaysShown is the number of newest commands that come before everything else: they say
// how things stand.
const alwaysShown = 3

// byWeight orders the groups by importance: the newest, then command lines that failed and were
// not mended, then those that publish the work, then other command lines, then the rest:
// scripts, and what is not known. Last come those of which the list of files says as much.
// Each from the newest to the oldest.
func (w *ledgerWriter) byWeight() []int {
	var classes [6][]int
	for i := len(w.groups) - 1; i >= 0; i-- {
		class := 4
		switch e := &w.entries[w.groups[i].last]; {
		case len(classes[0]) < alwaysShown:
			class = 0
		case e.Outcome == toolcall.Failed && e.SupersededBy == 0 && e.plain():
			class = 1
		case Publishes(e) && !strings.Contains(e.Command, "; "):
			class = 2
		case IsFileCall(e) && !e.Steps:
			class = 5
		case e.plain():
			class = 3
		}
		classes[class] = append(classes[class], i)
	}
	return slices.Concat(classes[:]...)
}

// hasLine reports whether a call is shown besides what the list of files says: commands,
// messages to others, unknown tools, and failures.
func (w *ledgerWriter) hasLine(e *Entry) bool {
	if e.Outcome == toolcall.Failed && (e.Harmless || IsFileCall(e)) {
		return e.SupersededBy == 0 && !(w.brief && e.Harmless)
	}
	return !e.Harmless && (!IsFileCall(e) || e.plain()) && e.Task == "" // what was asked about has the outcome
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
func (w *ledgerWriter) leading(plain string, d ledgerDetail, handle func(e *Entry) string) string {
	if handle == nil {
		return plain
	}
	w.handle, w.limit = handle, unlimited
	return w.text(d)
}

// text writes the ledger in one degree of detail.
func (w *ledgerWriter) text(d ledgerDetail) string {
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
		fmt.Fprintf(&b, "%d calls are only counted or summed up here; the ledger tool lists them by path, tool, kind, outcome or number.\n", hidden)
	}
	return b.String()
}

// heading counts the calls.
func (w *ledgerWriter) heading() string {
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
			ends = append(ends, fmt.Sprintf("; %d still running", o.Count))
		}
	}
	return fmt.Sprintf("%d tool calls: %s%s.\n", w.counts.Calls, strings.Join(kinds, ", "), strings.Join(ends, ""))
}

// timeline writes the calls in their order. It returns how many have no line.
func (w *ledgerWriter) timeline(b *strings.Builder, d ledgerDetail) (hidden int) {
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

// line writes one call, or the newest of several that are the same.
func (w *ledgerWriter) line(b *strings.Builder, g callGroup, d ledgerDetail) {
	e, width := &w.entries[g.last], d.width
	fmt.Fprintf(b, "#%d %s", e.Seq, CallLabel(e))
	args := e.Args
	if e.Command != "" && g.calls > 1 {
		args = e.Command
	}
	if w.answer != nil && Publishes(e) {
		width *= 2 // what was said to others
		if strings.Contains(e.Command, "git ") {
			width = max(width/4, shortCommand) // the answer says it
		}
	}
	if e.Command != "" {
		args = strings.ReplaceAll(args, " 2>&1", "") // how it ended is told either way
		if cd, _, ok := strings.Cut(args, " && "); ok && strings.HasPrefix(cd, "cd ") {
			width += min(len(cd), maxFolder)
		}
	}
	if args = text.OneLine(args, width); d.ends {
		args = text.ClipPath(strings.Join(strings.Fields(e.Args), " "), width)
	}
	if args != "" {
		b.WriteString(" " + args)
	}
	if names := e.unnamed(args); len(names) > 0 && d.changes { // cut off the line, but a change must be named
		fmt.Fprintf(b, " (changes %s)", joinPaths(names))
	}
	if g.calls > 1 {
		fmt.Fprintf(b, " (%d times", g.calls)
		if g.failed > 0 && g.failed < g.calls {
			fmt.Fprintf(b, ", %d failed", g.failed)
		}
		b.WriteString(")")
	}
	switch {
	case e.Outcome == toolcall.Unanswered:
		b.WriteString(": no result")
	case e.Outcome == toolcall.Running:
		b.WriteString(": goes on in the background")
	case e.Outcome == toolcall.Failed:
		b.WriteString(": failed")
		if e.ExitCode != nil && *e.ExitCode != 0 {
			fmt.Fprintf(b, " (exit %d)", *e.ExitCode)
		}
		if e.ErrorLine != "" {
			b.WriteString(": " + text.OneLine(e.ErrorLine, width))
		}
	case e.Kind == toolcall.CallRead && e.Lines == 1:
		b.WriteString(": 1 line")
	case e.Kind == toolcall.CallRead && e.Lines > 0:
		fmt.Fprintf(b, ": %d lines", e.Lines)
	case e.cutOff():
		b.WriteString(": its end was cut off")
	case !e.Harmless:
		b.WriteString(": ok")
		if w.answer != nil && Publishes(e) {
			if a := w.answer(e); a != "" {
				b.WriteString(": " + a)
			}
		}
	}
	switch {
	case e.Stale():
		fmt.Fprintf(b, ", stale since #%d", e.SupersededBy)
	case e.Mended():
		fmt.Fprintf(b, ", ok in #%d", e.SupersededBy)
	case e.SupersededBy > 0:
		fmt.Fprintf(b, ", newer in #%d", e.SupersededBy)
	}
	handle := e.Handle
	if w.handle != nil {
		handle = w.handle(e)
	}
	if handle != "" {
		b.WriteString(" [" + handle + "]")
	}
	b.WriteByte('\n')
}

const (
	shortCommand = 64 // bytes of a command that tell it from others
	maxFolder    = 24 // more of them where it first goes to a folder
)

// files writes what became of each changed file.
func (w *ledgerWriter) files(b *strings.Builder, d ledgerDetail) {
	if d.compact {
		key := namedFiles{min(d.paths, len(w.changed)), w.folders}
		s, ok := w.named[key]
		if !ok {
			s = w.together(key.paths)
			w.named[key] = s
		}
		b.WriteString(s)
		return
	}
	for _, s := range w.changed {
		fmt.Fprintf(b, "%s: %s", stateLabels[s.label()], s.Path)
		if s.Source != "" {
			b.WriteString(" from " + s.Source)
		}
		if s.Count > 1 {
			fmt.Fprintf(b, " (%d times)", s.Count)
		}
		for _, seq := range s.Calls[max(0, len(s.Calls)-MaxCallsNamed):] {
			fmt.Fprintf(b, " #%d", seq)
		}
		b.WriteByte('\n')
	}
}

// together names the newest n changed files, taken together by what became of them, and
// counts the others.
func (w *ledgerWriter) together(n int) string {
	var b strings.Builder
	extra := len(w.changed) - n
	if extra > 0 {
		w.counted(&b, extra)
	}
	names := make([][]string, len(stateLabels))
	for _, i := range w.sorted {
		if i >= extra {
			label := w.changed[i].label()
			names[label] = append(names[label], w.changed[i].Path)
		}
	}
	for label, list := range names {
		if joined := strings.Join(braced(slices.Compact(list), 0), ", "); joined != "" {
			fmt.Fprintf(&b, "%s: %s\n", stateLabels[label], joined)
		}
	}
	return b.String()
}

// MaxCallsNamed is how many calls that changed a file are named with it: the newest.
const MaxCallsNamed = 6

// counted writes that the first n changed files are not named, and in which folders they are.
func (w *ledgerWriter) counted(b *strings.Builder, n int) {
	counts := make([]int, len(w.dirs))
	for _, k := range w.dir[:n] {
		counts[k]++
	}
	in := make(map[string]int)
	for k, count := range counts {
		if count > 0 {
			in[w.dirs[k]] = count
		}
	}
	folders := byFrequency(in)
	fmt.Fprintf(b, "%d more files changed in %d folders", n, len(folders))
	for i, f := range folders[:min(len(folders), w.folders)] {
		fmt.Fprintf(b, "%s %s (%d)", map[bool]string{true: ":", false: ","}[i == 0], cmp.Or(f.Name, "./"), f.Count)
	}
	b.WriteString("; ledger(files=true) names them all.\n")
}

// Files names all changed files, or those that a path of a filter chooses.
func (l *Ledger) Files(path string) string {
	w := &ledgerWriter{changed: l.Changed()}
	if path != "" {
		w.changed = slices.DeleteFunc(w.changed, func(s PathState) bool { return !pathMatches(path, s.Path) })
	}
	w.sorted = byPath(w.changed)
	return fmt.Sprintf("%d changed files.\n", len(w.changed)) + w.together(len(w.changed))
}

var stateLabels = []string{"Created", "Edited", "Deleted", "Created and deleted again", "Touched by unknown tools"}

// label chooses the words for what became of a file.
func (s PathState) label() int {
	switch {
	case s.State == toolcall.CallCreate:
		return 0
	case s.State == toolcall.CallEdit:
		return 1
	case s.State == toolcall.CallDelete && s.Created:
		return 3
	case s.State == toolcall.CallDelete:
		return 2
	}
	return 4
}

// commands writes the most important groups that there is room for, in the order of the
// calls. It returns how many calls have no line of their own.
func (w *ledgerWriter) commands(b *strings.Builder, d ledgerDetail) int {
	shown := slices.Sorted(slices.Values(w.order[:min(len(w.order), d.commands)]))
	for _, i := range shown {
		if w.line(b, w.groups[i], d); b.Len() > w.limit {
			break // it does not fit
		}
	}
	if d.reads == readsCounted {
		return w.older + len(w.entries) - len(shown)
	}
	return w.older + w.lines - len(shown)
}

// reads names the files that were only looked at.
func (w *ledgerWriter) reads(b *strings.Builder, d ledgerDetail) {
	if d.reads != readsNamed || len(w.read) == 0 {
		return
	}
	names := make([]string, len(w.read))
	for i, s := range w.read {
		names[i] = s.Path
	}
	fmt.Fprintf(b, "Only looked at: %s\n", joinPaths(names))
}

// Listing is how a list of calls that the filter selected is shown: what it begins with, and
// the line of each.
func (l *Ledger) Listing(list []Entry, f Filter) (heading string, line func(i int) string) {
	w := &ledgerWriter{entries: list, counts: l.Counts(f)}
	return w.heading(), func(i int) string {
		var b strings.Builder
		w.line(&b, callGroup{last: i, calls: 1}, ledgerDetails[0])
		return b.String()
	}
}

// Lines writes a line for each of the calls, with at most so many bytes of its arguments.
func Lines(calls []Entry, width int) string {
	w := &ledgerWriter{entries: calls}
	var b strings.Builder
	for i := range calls {
		w.line(&b, callGroup{last: i, calls: 1}, ledgerDetail{changes: true, width: width, ends: true})
	}
	return b.String()
}
