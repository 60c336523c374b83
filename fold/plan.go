package fold

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// Trigger says why an epoch opens.
type Trigger string

// The triggers.
const (
	TriggerRed     Trigger = "red"     // the window forces it
	TriggerAsked   Trigger = "asked"   // the agent or the user asked
	TriggerRefused Trigger = "refused" // the provider said that the prompt is too long
	TriggerPays    Trigger = "pays"    // it saves money
	TriggerIdle    Trigger = "idle"    // the cache is cold anyway
	TriggerCliff   Trigger = "cliff"   // a price tier is near
	TriggerTurn    Trigger = "turn"    // the policy folds before every request
	TriggerIllegal Trigger = "illegal" // what came since makes the view one that the wire refuses
)

// Voluntary reports whether the session could go on without the epoch.
func (t Trigger) Voluntary() bool {
	switch t {
	case TriggerPays, TriggerIdle, TriggerCliff, TriggerTurn:
		return true
	}
	return false
}

// Plan holds the folds chosen for this moment: data that can be printed, stored, carried
// out or thrown away. Making one changes nothing.
type Plan struct {
	Epoch   int       `json:"epoch"`
	Trigger Trigger   `json:"trigger"`
	Focus   string    `json:"focus,omitempty"`
	Folds   []*Fold   `json:"folds"` // new ones
	Before  int       `json:"tokens_before"`
	After   int       `json:"tokens_after"`
	Limits  Limits    `json:"limits"`
	Cache   CacheCost `json:"cache"`
	// DropThinking tells a wire whose provider binds thinking to the exact bytes before
	// it to ask for the blocks that no longer verify to be dropped.
	DropThinking bool   `json:"drop_thinking,omitempty"`
	Warning      string `json:"warning,omitempty"`
	// Kept are files that were read again after each of the newest epochs: they are kept in
	// view instead of being folded once more.
	Kept []string `json:"kept,omitempty"`

	In    Folded `json:"-"` // the folds in force once the plan is carried out
	Need  *Need  `json:"-"` // a digest that the plan would be better with; nil: none
	other bool   // it changes the view also without new folds: less thinking, or fewer folds
}

// IsEmpty reports whether the plan would change nothing.
func (p *Plan) IsEmpty() bool { return p == nil || len(p.Folds) == 0 && !p.other }

// String prints the plan as a table.
func (p *Plan) String() string {
	var b strings.Builder
	if p.IsEmpty() {
		return "nothing to fold\n"
	}
	fmt.Fprintf(&b, "epoch %d (%s): %s → %s tokens, target %s, window %s\n", p.Epoch, p.Trigger,
		text.Thousands(p.Before), text.Thousands(p.After), text.Thousands(p.Limits.Target), text.Thousands(p.Limits.Window))
	fmt.Fprintf(&b, "cache: %s tokens rewritten once, %s fewer in every request", text.Thousands(p.Cache.Rewritten), text.Thousands(p.Cache.Removed))
	if p.Cache.Removed > 0 {
		fmt.Fprintf(&b, ", pays after %s", text.Plural(int(math.Ceil(p.Cache.PaysAfter)), "request"))
	}
	b.WriteString("\n")
	if p.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", p.Warning)
	}
	if len(p.Kept) > 0 {
		fmt.Fprintf(&b, "kept, because it was read again after each of the last epochs: %s\n", strings.Join(p.Kept, ", "))
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LEVER\tMESSAGES\tBEFORE\tAFTER\tHANDLE\tWHY")
	for _, f := range p.Folds {
		where := fmt.Sprintf("%d–%d", f.Start+1, f.End)
		if !f.Whole() || f.End == f.Start+1 {
			where = fmt.Sprint(f.Start + 1)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", f.Lever, where, f.Before, f.After, f.Handle, f.Reason)
	}
	w.Flush()
	return b.String()
}

// PlanOptions tell [Make] what is not in the conversation and its folds.
type PlanOptions struct {
	Trigger Trigger
	Limits  Limits
	Sure    int // with limits that are a guess: the size from which a view is surely refused, and results that no model has seen are folded; 0: no guess
	Rates   model.Rates
	Cold    bool // the provider's cache is cold
	From    int  // with TriggerPays: fold results from this message on
	Focus   string
	Model   bool // a model can be asked for a digest
	Echo    Echoes
	Binds   bool  // the model binds thinking to the bytes before it
	Child   bool  // the session is a sub-agent's
	Steps   Steps // pull exactly these, as far as they go; nil: the policy's

	// What a session bars when the view of a plan was not legal.
	Barred  []string // levers that are not pulled
	Fresh   bool     // the folds in force end, apart from those made at birth
	NoSpans bool     // only single blocks are folded: the messages stay as they are
}

// Make chooses folds. The same conversation, folds and options give the same plan. Make may
// read messages from the store; Contents.Fault has the error if that fails. It also
// remembers what it measured, which changes no later plan.
func Make(s *Folding, p *Policy, o PlanOptions) *Plan {
	d := newDraft(s, p, o)
	steps := o.Steps
	if steps == nil {
		steps = p.steps(o.Trigger)
	}
	d.pull(steps)
	d.showPins()
	return d.plan(o)
}

// plan turns the draft into a plan. It leaves out folds that a later lever replaced, and
// counts the view's tokens once more from scratch.
func (d *Draft) plan(o PlanOptions) *Plan {
	p := &Plan{Epoch: d.s.Epochs + 1, Trigger: o.Trigger, Focus: o.Focus, Before: d.s.Parts.Total(), Limits: o.Limits, Need: d.need}
	if len(d.added) == 0 && d.in.Bare == d.s.InUse.Bare && !o.Fresh {
		p.After = p.Before
		return p
	}
	if o.Binds {
		d.unbind(p)
	}
	first := d.Len()
	p.Folds = d.live()
	was := &Draft{s: d.s, in: d.s.InUse}
	for i, f := range p.Folds {
		f.ID = len(d.s.Folds) + i + 1
		first = min(first, f.Start)
		if f.Block < 0 && f.Start < f.End { // with what levers folded inside it before
			f.Before = was.TokensIn(f.Start, f.End)
		}
	}
	parts, _ := d.s.RenderedParts(d.in)
	p.In, p.After, p.Kept = d.in, parts.Total(), d.reread
	if d.in.Bare != d.s.InUse.Bare {
		p.other = p.After < p.Before
		first = min(first, d.s.InUse.Bare)
	}
	p.other = p.other || o.Fresh
	p.Cache = cacheCost(o.Rates, p.Before-p.After, d.TokensIn(first, d.s.asked), d.s.expected(), o.Cold)
	if p.After > o.Limits.Max {
		p.Warning = fmt.Sprintf("%s tokens are more than the %s that may be sent", text.Thousands(p.After), text.Thousands(o.Limits.Max))
	} else if p.After >= o.Limits.Red && o.Trigger == TriggerRed {
		p.Warning = StillRed(p.After, o.Limits)
	}
	return p
}

// StillRed is the warning that folding did not bring a view under red.
func StillRed(tokens int, l Limits) string {
	return fmt.Sprintf("still red after compaction: %s tokens, red begins at %s", text.Thousands(tokens), text.Thousands(l.Red))
}

// unbind deals with thinking that is bound to the exact bytes before it: every fold makes
// all later thinking invalid. When a person has just spoken, all of it may go; inside a run
// the provider is asked to drop what does not verify.
func (d *Draft) unbind(p *Plan) {
	if n := d.s.Transcript.Len(); n > 0 && d.s.Facts[n-1].Typed && (!d.s.ThinkFirst || d.s.openTurn() == n) {
		d.SetBare(n)
		return
	}
	p.DropThinking = true
}
