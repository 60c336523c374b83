package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/recall"
)

// runScreen shows a run to people: what the model says, what the tools do, every fold, and
// a meter of the window. On a terminal the meter stays in view; elsewhere it gets a line
// whenever its colour changes.
type runScreen struct {
	w       io.Writer
	s       term.Screen
	live    bool // there is a terminal to draw on
	ui      *ui  // the terminal, while something runs
	verbose bool // what a policy does silently gets lines too
	frames  bool // every reading of the meter gets a line
	stubs   bool // the first stub of each lever gets a line

	transcripts string // where the policy writes the whole transcript before a summary; empty: nowhere
	mu          sync.Mutex
	snap        fold.Snapshot
	known       bool
	usd         float64
	last        *agent.Call              // the call whose line was written last
	partial     string                   // the line of the model's text that has not ended
	code        bool                     // that line is in a block of code
	folds       map[string][]term.Styled // of the epochs that are being told, by session
	lever       string                   // of the fold before
	failed      term.Styled              // an error; what ends the run is told by whoever started it
}

func newRunScreen(p *term.Console) *runScreen {
	live := p.Interactive() && p.Getenv("TERM") != "dumb" && p.Getenv("CI") == ""
	return &runScreen{folds: make(map[string][]term.Styled), w: p.Stdout, s: p.Screen(), live: live}
}

func (r *runScreen) observe(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	indent := term.Styled(strings.Repeat("  ", e.Depth))
	failed := r.failed
	ended := e.Kind == agent.EventDone && e.Depth == 0 && e.Done.Stop != agent.StopDone
	if r.failed = ""; failed != "" && !ended {
		r.line(failed)
	}
	switch e.Kind {
	case agent.EventSnapshot:
		if e.Depth == 0 {
			r.meter(*e.Snapshot)
		}
	case agent.EventText:
		if e.Depth == 0 {
			r.text(e.Text)
		}
	case agent.EventToolCall:
		r.line(indent + r.call(e.Call))
		r.last = e.Call
	case agent.EventToolResult:
		if e.Call.Denied == "" {
			r.line(indent + r.result(e.Call, e.Result))
		}
	case agent.EventFold, agent.EventDigest:
		if e.Fold != nil {
			r.folds[e.Session] = append(r.folds[e.Session], indent+r.s.Dim(r.fold(e.Fold)))
			if r.stubs && e.Fold.Stub != "" && e.Fold.Lever != r.lever {
				r.folds[e.Session] = append(r.folds[e.Session], indent+r.s.Dim(r.stub(e.Fold)))
			}
			r.lever = e.Fold.Lever
		}
	case agent.EventSpill:
		r.line(indent + r.s.Dim(r.fold(e.Fold)+" ("+e.Fold.Reason+")"))
		if r.stubs {
			r.line(indent + r.s.Dim(r.stub(e.Fold)))
		}
	case agent.EventEpoch:
		r.epoch(e, indent)
	case agent.EventWriting:
		r.line(indent + r.s.Dim(fmt.Sprintf("  … %s writes the digest of messages %d–%d", e.Writing.Model,
			e.Writing.From, e.Writing.To)))
	case agent.EventWarning:
		r.line(indent + r.s.Style("31", "  ! "+term.Clip(term.OneLine(e.Warning), 300)))
	case agent.EventRecall:
		r.line(indent + r.s.Style("36", "  ⤒ recalled "+term.Clip(term.OneLine(e.Recall), 60)))
	case agent.EventUsage:
		r.usd += e.Usage.USD
		if r.verbose && !e.Digest {
			r.line(indent + r.s.Dim(fmt.Sprintf("    cache     it had %s of the request's %s tokens",
				term.Thousands(e.Usage.CacheRead), term.Thousands(e.Usage.Tokens()-e.Usage.Output))))
		}
		r.refresh()
	case agent.EventError:
		if errors.Is(e.Err, context.Canceled) {
			return // reported elsewhere
		}
		r.failed = indent + r.s.Style("31", "  ✗ "+term.Clip(term.OneLine(e.Error), 300))
	case agent.EventDone:
		if e.Depth == 0 {
			r.endLine()
			r.refresh()
		}
	}
}

func (r *runScreen) epoch(e agent.Event, indent term.Styled) {
	p, folds := e.Plan, r.folds[e.Session]
	r.lever = ""
	if delete(r.folds, e.Session); p.Trigger == fold.TriggerTurn && !r.verbose {
		return // a policy that folds before every request does it silently
	}
	for _, l := range folds {
		r.line(l)
	}
	if r.transcripts != "" && slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Digest }) {
		r.line(indent + r.s.Dim("    keep      the whole transcript, in "+r.transcripts))
	}
	for _, file := range p.Kept {
		if r.verbose {
			r.line(indent + r.s.Dim("    keep      "+file+": it was read again after each of the last epochs"))
		}
	}
	if len(p.Steps) > 1 {
		for _, s := range p.Steps {
			r.line(indent + r.s.Dim(fmt.Sprintf("    %-9s %s → %s tokens, %s", s.Lever, term.Thousands(s.Before),
				term.Thousands(s.After), s.State)))
		}
	}
	why := cmp.Or(library.Triggers[p.Trigger], string(p.Trigger))
	if p.Trigger == fold.TriggerRed {
		why = "red begins at " + term.Thousands(e.Snapshot.Limits.Red)
	}
	line := fmt.Sprintf("  ⤓ folded %s (%s): %s → %s tokens, epoch %d",
		term.Plural(len(p.Folds), "place"), why, term.Thousands(e.Before), term.Thousands(e.Snapshot.Tokens), p.Epoch)
	paged := slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.By != "" })
	silent := p.Trigger == fold.TriggerTurn && slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Lever == "mask" })
	if name := occasions[p.Trigger]; name != "" && (paged || silent || p.Trigger == fold.TriggerIdle) {
		line += " [" + name + "]"
	}
	r.line(indent + r.s.Bold(line))
}

// occasions are the names that texts on compaction have for the occasions of an epoch. But for the last two, they mean
// that a summary was written, not only placeholders.
var occasions = map[fold.Trigger]string{
	fold.TriggerRed: "auto compact", fold.TriggerAsked: "manual compact", fold.TriggerRefused: "reactive compact",
	fold.TriggerIdle: "time-based micro compact", fold.TriggerTurn: "micro compact",
}

// settle ends the current line, so that others can write.
func (r *runScreen) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLine()
	r.refresh()
}

func (r *runScreen) call(c *agent.Call) term.Styled {
	about := c.Subject
	if about == "" && c.Input != "{}" {
		about = c.Input
	}
	room := max(r.s.Width-len(c.Name)-4, 20)
	line := r.s.Style("34", "●") + " " + r.s.Bold(c.Name) + " " + term.Styled(term.Clip(term.OneLine(about), room))
	if c.Denied != "" {
		line += "\n  " + r.s.Style("31", "✗ not run: "+term.Clip(term.OneLine(c.Denied), r.s.Width-14))
	}
	return line
}

// result says how a call ended. If its own line is not the one above, it names the call.
func (r *runScreen) result(c *agent.Call, res *agent.CallResult) term.Styled {
	text := strings.TrimRight(res.Text, "\n ")
	of := ""
	if r.last == nil || r.last.ID != c.ID {
		of = term.Clip(strings.TrimSpace(c.Name+" "+term.OneLine(c.Subject)), r.s.Width/2) + ": "
	}
	if res.Error {
		last := text[strings.LastIndexByte(text, '\n')+1:]
		return r.s.Style("31", term.Clip("  ✗ "+of+term.OneLine(last), r.s.Width-2))
	}
	lines := strings.Count(text, "\n") + 1
	note := term.Clip("  ✓ "+of+term.OneLine(text), r.s.Width-2)
	if lines > 1 {
		note = fmt.Sprintf("  ✓ %sa result of %s, %s", of, term.Plural(lines, "line"),
			term.ByteSize(int64(len(res.Text))))
	}
	if c.Name == recall.ToolUnfold || c.Name == recall.ToolSearch {
		note += ", exact"
	}
	return r.s.Dim(note)
}

// fold describes one fold: what, how much, and how to get it back.
func (r *runScreen) fold(f *fold.Fold) string {
	what := fmt.Sprintf("message %d", f.Start+1)
	if f.End-f.Start > 1 {
		what = fmt.Sprintf("messages %d–%d", f.Start+1, f.End)
	}
	back := ""
	if f.Handle != "" {
		back = ", back with " + fold.UnfoldCall(f.Handle)
	}
	return fmt.Sprintf("    %-9s %s: %s → %s tokens%s", f.Lever, what, term.Thousands(f.Before), term.Thousands(f.After), back)
}

// stub shows how the text begins that stands for what was folded, and what follows it.
func (r *runScreen) stub(f *fold.Fold) string {
	most := 130
	if f.Digest {
		most = 600
	}
	line := "      → " + term.Clip(term.OneLine(f.Stub), most)
	for _, said := range []string{f.Ack, f.Then} {
		if said != "" {
			line += " … " + said
		}
	}
	return line
}

// text takes the model's text as it comes. Whole lines are written; the rest is shown below them.
func (r *runScreen) text(t string) {
	lines := strings.Split(r.partial+term.Visible(t), "\n")
	last := len(lines) - 1
	for _, l := range lines[:last] {
		fmt.Fprintln(r.w, r.markdown(l))
	}
	r.partial = lines[last]
	r.refresh()
}

func (r *runScreen) endLine() {
	if r.partial != "" {
		text := r.partial
		r.partial = ""
		fmt.Fprintln(r.w, r.markdown(text))
	}
	r.code = false
}

func (r *runScreen) line(text term.Styled) {
	r.endLine()
	fmt.Fprintln(r.w, text)
	r.last = nil
	r.refresh()
}

// partialRows is how many rows of a long line are shown while it comes in.
const partialRows = 5

// refresh shows what is coming in, and the meter.
func (r *runScreen) refresh() {
	if r.ui == nil {
		return
	}
	var below []string
	width := r.ui.p.Screen().Width // of now
	if r.partial != "" {
		rows := strings.Split(term.WrapWords(term.Untab(r.partial), width), "\n")
		below = rows[max(len(rows)-partialRows, 0):]
	}
	if r.known {
		meter := string(r.meterText(min(max(width-70, 8), 24)) + r.filling())
		below = append(below, ansi.Truncate(meter, width, "…"))
	}
	r.ui.show(strings.Join(below, "\n"))
}

func (r *runScreen) meter(s fold.Snapshot) {
	same := r.known && s.State == r.snap.State
	r.snap, r.known = s, true
	if r.frames {
		r.line(r.frame(s))
		return
	}
	if r.ui == nil && !same {
		r.line(r.meterText(20))
	}
	r.refresh()
}

// frame is one reading of the meter as the demo shows it.
func (r *runScreen) frame(s fold.Snapshot) term.Styled {
	const cells = 40
	full := min(int(s.Utilization*cells), cells)
	return r.s.Style(stateColours[s.State], fmt.Sprintf("[ctx %s%s] %5.1f%% %s", strings.Repeat("█", full),
		strings.Repeat("░", cells-full), s.Utilization*100, s.State))
}

var stateColours = map[fold.State]string{fold.Green: "32", fold.Yellow: "33", fold.Red: "31"}

// filling names what takes most of the window.
func (r *runScreen) filling() term.Styled {
	parts := sessionfile.PartNames(r.snap.Parts)
	slices.SortStableFunc(parts, func(a, b sessionfile.Share) int { return cmp.Compare(b.Tokens, a.Tokens) })
	var list []string
	for _, p := range parts[:3] {
		if p.Tokens > 0 {
			list = append(list, p.Name+" "+term.Short(p.Tokens))
		}
	}
	return r.s.Dim("  " + strings.Join(list, ", "))
}

// meterText is the meter as one line: how full the window is, in the colour of its state.
func (r *runScreen) meterText(cells int) term.Styled {
	s := r.snap
	colour := stateColours[s.State]
	full := min(int(s.Tokens)*cells/max(int(s.Limits.Window), 1), cells)
	gauge := strings.Repeat("█", full) + strings.Repeat("░", cells-full)
	text := fmt.Sprintf("%s %3.0f %% of %s, %s", gauge, s.Utilization*100, term.Short(s.Limits.Window), s.State)
	line := "context " + r.s.Style(colour, text)
	if s.Epoch > 0 {
		line += term.Sprint(", epoch %d", s.Epoch)
	}
	if r.usd > 0 {
		line += term.Styled(", " + term.Cents(r.usd))
	}
	return line
}

var (
	boldText = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	codeText = regexp.MustCompile("`([^`]+)`")
	listItem = regexp.MustCompile(`^(\s*)[-*] `)
)

// markdown is a line of the model's text as a terminal shows it. Elsewhere it stays as it is.
func (r *runScreen) markdown(line string) term.Styled {
	trimmed := strings.TrimSpace(line)
	fence := strings.HasPrefix(trimmed, "```")
	if r.code = r.code != fence; r.ui == nil {
		return term.Styled(line)
	}
	switch {
	case fence:
		return r.s.Dim(line)
	case r.code:
		return r.s.Style("36", line)
	case strings.HasPrefix(trimmed, "#"):
		return r.s.Bold(strings.TrimLeft(trimmed, "# "))
	}
	line = listItem.ReplaceAllString(line, "$1• ")
	line = boldText.ReplaceAllStringFunc(line, func(m string) string { return string(r.s.Bold(m[2 : len(m)-2])) })
	return term.Styled(codeText.ReplaceAllStringFunc(line,
		func(m string) string { return string(r.s.Style("36", m[1:len(m)-1])) }))
}

func jsonObserver(w io.Writer) func(agent.Event) {
	var mu sync.Mutex
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(e agent.Event) {
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(e) // if the reader is gone, the run ends by itself
	}
}
