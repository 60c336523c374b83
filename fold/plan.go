package fold

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
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
	Epoch   int       `json:"epoch"`           // number of the epoch that it would open
	Trigger Trigger   `json:"trigger"`         // why it was made
	Focus   string    `json:"focus,omitempty"` // what matters most to whoever asked
	Folds   []*Fold   `json:"folds"`           // new ones
	Before  int       `json:"tokens_before"`   // of the view in force
	After   int       `json:"tokens_after"`    // of the view with the new folds
	Limits  Limits    `json:"limits"`          // the budget in tokens
	Cache   CacheCost `json:"cache"`
	// DropThinking tells a wire whose provider binds thinking to the exact bytes before
	// it to ask for the blocks that no longer verify to be dropped.
	DropThinking bool   `json:"drop_thinking,omitempty"`
	Warning      string `json:"warning,omitempty"` // what people should know; empty: all went well
	// Kept are files that were read again after each of the newest epochs: they are kept in
	// view instead of being folded once more.
	Kept []string `json:"kept,omitempty"`
	// Refused tells of levers that have no fold in the plan because a rule kept them from it: for
	// each rule its first message, counted from 1.
	Refused []string `json:"refused,omitempty"`

	// Steps are the levers that changed the view, in the order in which they were pulled: what a later one replaced is
	// in none of the folds.
	Steps []pulled `json:"steps,omitempty"`

	In    Set   `json:"-"` // the folds in force once the plan is carried out
	Need  *Need `json:"-"` // a digest that the plan would be better with; nil: none
	other bool  // it changes the view also without new folds: less thinking, or fewer folds
}

// pulled is what a lever did to the view.
type pulled struct {
	Lever  string `json:"lever"`
	Before int    `json:"tokens_before"` // of the view when it was pulled
	After  int    `json:"tokens_after"`  // and then
	State  State  `json:"state"`         // how full that is
}

// IsEmpty reports whether the plan would change nothing.
func (p *Plan) IsEmpty() bool { return p == nil || len(p.Folds) == 0 && !p.other }

// String prints the plan as a table.
func (p *Plan) String() string {
	var b strings.Builder
	if p == nil {
		p = new(Plan)
	}
	if p.IsEmpty() {
		b.WriteString("nothing to fold\n")
		p.writeRefused(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "epoch %d (%s): %s → %s tokens, target %s, window %s\n", p.Epoch, p.Trigger,
		text.Thousands(p.Before), text.Thousands(p.After), text.Thousands(p.Limits.Target),
		text.Thousands(p.Limits.Window))
	fmt.Fprintf(&b, "cache: %s tokens rewritten once, %s fewer in every request",
		text.Thousands(p.Cache.Rewritten), text.Thousands(p.Cache.Removed))
	if p.Cache.Removed > 0 {
		fmt.Fprintf(&b, ", pays after %s", text.Plural(int(math.Ceil(p.Cache.PaysAfter)), "request"))
	}
	b.WriteString("\n")
	if p.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", p.Warning)
	}
	if len(p.Kept) > 0 {
		fmt.Fprintf(&b, "kept, because it was read again after each of the last epochs: %s\n",
			strings.Join(p.Kept, ", "))
	}
	p.writeRefused(&b)
	if len(p.Steps) > 1 {
		for _, s := range p.Steps {
			fmt.Fprintf(&b, "%s: %s → %s tokens, %s\n", s.Lever, text.Thousands(s.Before), text.Thousands(s.After), s.State)
		}
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

func (p *Plan) writeRefused(b *strings.Builder) {
	for _, why := range p.Refused {
		fmt.Fprintf(b, "refused: %s\n", why)
	}
}

// Past is what a session has done so far, as far as plans depend on it. A program that plans without a
// Session keeps it from plan to plan.
type Past struct {
	Epoch    int               // number of the epoch that the plan would open
	Folds    int               // number of folds ever made
	Epochs   []int             // lengths of the transcript at the epochs in force, oldest first
	Seen     int               // the messages before it were shown by this session and answered
	Answered int               // the messages before it were shown by some session and answered
	Ahead    float64           // how many more requests are expected
	Born     Set               // folds made at birth: what they replace was never shown
	Pins     []string          // oldest first
	Notes    []transcript.Note // newest last
	Told     []Narrative       // digests by a model that can be used, newest last
}

// PlanOptions tell [Make] what is not in the conversation and its folds.
type PlanOptions struct {
	Past
	Trigger Trigger // why the plan is made
	Limits  Limits  // the budget in tokens
	// Sure is, where the limits are a guess, the size from which a view is surely refused: then
	// results that no model has seen are folded. 0: the limits are exact.
	Sure   int
	Rates  model.Rates // what the cache costs, for [Plan].Cache; zero: nothing
	Cold   bool        // the provider's cache is cold
	From   int         // with TriggerPays: fold results from this message on
	Focus  string      // what matters most; empty: nothing in particular
	Model  bool        // a model can be asked for a digest
	Binds  bool        // the model binds thinking to the bytes before it
	Silent bool        // and the provider cannot be asked to drop what does not verify
	Child  bool        // the session is a sub-agent's
	Steps  Steps       // pull exactly these, as far as they go; nil: the policy's

	// What a view is made of beside the conversation.
	Head       Parts                      // system prompt and tools
	Recall     func(handle string) string // how stubs say to get content back; nil: they do not
	ThinkFirst bool                       // see [Layout]
	Pages      Writer                     // writes pages; nil: no lever writes one

	// What a session bars when the view of a plan was not legal.
	Barred  []string // levers that are not pulled; also those that failed
	Fresh   bool     // the folds in force end, apart from those made at birth
	NoSpans bool     // only single blocks are folded: the messages stay as they are
}

// Make chooses folds for a conversation in which some are in force. The same conversation,
// folds and options give the same plan. The error is that of a block that could not be read, or of a
// lever.
func Make(ctx context.Context, src Source, in Set, p *Policy, o PlanOptions) (*Plan, error) {
	d := newDraft(src, in, p, o)
	steps := o.Steps
	var err error
	if steps == nil {
		err = d.pullEvery(ctx)
		steps = p.steps(o.Trigger)
	}
	if err == nil {
		err = d.pull(ctx, steps)
	}
	if err == nil {
		err = d.showPins(ctx, &in)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return d.plan(&in), nil
}

// NeedAhead returns the digest that the next epoch will need when it comes at red; nil if
// it will need none. A program that plans without a Session can have it written in the background.
func NeedAhead(ctx context.Context, src Source, in Set, p *Policy, o PlanOptions) (*Need, error) {
	o.Trigger = TriggerRed
	d := newDraft(src, in, p, o)
	ahead := max(o.Limits.Red-d.total, 0)
	for _, l := range p.AtRed {
		if a, ok := l.(Asker); ok {
			err := d.ask(l, func() error { a.Ahead(d, ahead); return nil })
			return d.pages.need, err
		}
		goal := d.Goal
		d.Goal = 0 // as far as it goes
		if err := d.pull(ctx, Steps{l}); err != nil {
			return nil, fmt.Errorf("plan ahead: %w", err)
		}
		d.Goal = cmp.Or(d.Goal, goal)
	}
	return nil, nil
}

// plan turns the draft into a plan. It leaves out folds that a later lever replaced, and
// counts the view's tokens once more from scratch.
func (d *Draft) plan(was *Set) *Plan {
	o := &d.o
	p := &Plan{
		Epoch: o.Epoch, Trigger: o.Trigger, Focus: o.Focus, Before: d.Before, After: d.Before, Limits: o.Limits,
		Need: d.pages.need,
	}
	shows := d.Trigger == TriggerAsked && !slices.Equal(d.lay.In.IDs(), was.IDs())
	if len(d.added) == 0 && d.lay.In.Bare == was.Bare && !o.Fresh && !shows {
		p.Refused = d.refusals(nil)
		return p
	}
	if o.Binds {
		d.unbind(p)
	}
	first := d.len()
	p.Folds, p.Steps = d.live(), d.steps
	p.Refused = d.refusals(p.Folds)
	before := *d
	before.lay.In = *was
	for i, f := range p.Folds {
		f.ID = o.Folds + i + 1
		first = min(first, f.Start)
		if f.Whole() && f.Start < f.End { // with what levers folded inside it before
			f.Before = before.TokensIn(f.Start, f.End)
		}
	}
	parts, _ := d.lay.Parts()
	p.In, p.After, p.Kept = d.lay.In, parts.Total(), d.Reread
	if d.lay.In.Bare != was.Bare {
		p.other = p.After < p.Before
		first = min(first, was.Bare)
	}
	p.other = p.other || o.Fresh || shows
	p.Cache = WeighCache(o.Rates, p.Before-p.After, d.TokensIn(first, o.Seen), o.Ahead, o.Cold)
	p.Warning = o.Limits.Warning(p.After, o.Trigger)
	return p
}

// unbind deals with thinking that is bound to the exact bytes before it: every fold makes
// all later thinking invalid. When a person begins a turn, all of it may go. While results are open, the newest
// answer has to keep its own, so the provider is asked to drop what does not verify, if it can be.
func (d *Draft) unbind(p *Plan) {
	n := d.len()
	if d.o.Silent || n > 0 && d.turn == n && d.facts[n-1].Typed {
		d.DropThinking(n)
		return
	}
	p.DropThinking = true
}
