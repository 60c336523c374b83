package fold

import (
	"fmt"
	"math"
	"slices"
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
)

// Voluntary reports whether the session could go on without the epoch.
func (t Trigger) Voluntary() bool {
	switch t {
	case TriggerPays, TriggerIdle, TriggerCliff, TriggerTurn:
		return true
	}
	return false
}

// Plan is the folds chosen for this moment: data that can be printed, stored, applied or
// thrown away. Making one changes nothing.
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

	In    Folded
	bares bool  // it takes thinking away
	Need  *Need // a digest that the plan would be better with; nil: none
}

// IsEmpty reports whether the plan would change nothing.
func (p *Plan) IsEmpty() bool { return p == nil || len(p.Folds) == 0 && !p.bares }

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
		if !f.whole() || f.End == f.Start+1 {
			where = fmt.Sprint(f.Start + 1)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", f.Lever, where, f.Before, f.After, f.Handle, f.Reason)
	}
	w.Flush()
	return b.String()
}

// planOptions is what planning is told beyond the state.
type PlanOptions struct {
	Trigger Trigger
	Limits  Limits
	Rates   model.Rates
	Cold    bool
	From    int // with TriggerPays: fold results from this message on
	Focus   string
	Model   bool // a model can be asked for a digest
	Recall  func(handle string) string
	Echo    echoes
	Binds   bool    // the model binds thinking to the bytes before it
	Child   bool    // the session of a sub-agent
	Levers  []Lever // exactly these, as far as they go; nil: the policy's
}

// makePlan chooses folds. The same state gives the same plan. It may read messages from the
// store, where an error is left for contents.fault, and it remembers what it mined and
// measured in the conversation, which changes no later plan.
func Make(s *Folding, p *Policy, o PlanOptions) *Plan {
	goal := o.Limits.Target
	if p.UntilGreen {
		goal = o.Limits.Red - 1
	}
	if o.Trigger == TriggerRefused {
		p = p.reactive()
	}
	d := newDraft(s, p, o.Limits, goal)
	if p.Guaranteed {
		d.goal = max(goal, d.attainable(2*MaxPage))
	}
	if o.Trigger == TriggerAsked && !p.UntilGreen {
		d.goal = min(d.goal, max(d.total/2, d.attainable(MaxPage/2))) // who asks wants room, however much there is
	}
	d.focus, d.model, d.recall, d.echo = o.Focus, o.Model, o.Recall, o.Echo
	d.keepThrashed()
	switch o.Trigger {
	case TriggerPays:
		d.maskFrom(o.From)
	case TriggerTurn:
		d.pull(p.EveryTurn, o)
	case TriggerIdle: // the cache is cold: what only folds results costs nothing
		d.goal = 0
		d.pull(slices.DeleteFunc(slices.Clone(p.Levers), func(l Lever) bool { return l != LeverSupersede && l != LeverMask }), o)
	default:
		levers := p.Levers
		if o.Levers != nil {
			levers = o.Levers
			if !slices.Contains(levers, LeverDigest) && !slices.Contains(levers, LeverSqueeze) {
				d.goal = 0 // as far as they go
			}
		}
		d.pull(levers, o)
	}
	d.refill()
	d.showPins()
	return d.plan(o)
}

// refill shows results again that were masked before a digest made room for them: what
// is newest is worth most. The epoch rewrites the view anyway.
func (d *Draft) refill() {
	if !d.p.Guaranteed || d.p.UntilGreen || d.p.Mask.All || d.p.Mask.Format != "" {
		return // policies with rules of their own mean them
	}
	if !slices.ContainsFunc(d.added, (*Fold).whole) {
		return // nothing made room
	}
	refs := d.results()
	for i := len(refs) - 1; i >= 0 && d.total < d.goal; i-- {
		f := d.in.blocks[refs[i]]
		if f == nil || f.Lever != LeverMask && (f.Lever != LeverSqueeze || f.After > stubTokens) || d.s.isLate(refs[i], d.in) {
			continue
		}
		grow := int(d.s.Facts[f.Start].Blocks[f.Block].Tokens) - f.After
		if spilled := d.s.born[refs[i]]; spilled != nil {
			grow = spilled.After - f.After
		}
		if d.total+grow > d.goal {
			return
		}
		d.total += grow
		if delete(d.in.blocks, refs[i]); d.s.born[refs[i]] != nil {
			d.in.blocks[refs[i]] = d.s.born[refs[i]]
		}
	}
}

// attainable is the smallest goal worth aiming at: what may not be folded, and a third of
// the room that it leaves, but no more than so many tokens. Below it a page would have no
// room to say anything.
func (d *Draft) attainable(most int) int {
	fixed := d.s.Head.Total() + d.tokensIn(0, d.head())
	return fixed + min((d.lim.Max-fixed)/3, most)
}

// reactive is the policy as it is after a refusal: fewer of the newest messages stay.
func (p *Policy) reactive() *Policy {
	if p.Reactive.Tail == 0 {
		return p
	}
	r := *p
	r.Digest.Keep, r.Digest.Whole = p.Reactive.Tail, false
	if p.Reactive.Format != "" {
		r.Digest.Format = p.Reactive.Format
	}
	return &r
}

// pull runs levers in order until the view is small enough. Asked for, a digest is made
// even if there is room. Levers whose policy wants them before every request do not ask
// about room either.
func (d *Draft) pull(levers []Lever, o PlanOptions) {
	for _, l := range levers {
		always := o.Trigger == TriggerAsked && l == LeverDigest ||
			l == LeverMask && d.p.Mask.All || l == LeverSnip && d.p.Snip.Format != ""
		if d.enough() && !always || d.barred(l, o) {
			continue
		}
		switch l {
		case LeverSupersede:
			d.supersede()
		case LeverCollapse:
			d.collapse()
		case LeverMask:
			d.mask()
		case LeverSnip:
			d.snip()
		case LeverDigest:
			d.digest()
		case LeverSqueeze:
			d.squeeze()
		case LeverTruncate:
			for before := -1; !d.enough() && d.total != before; {
				before = d.total
				d.truncate()
			}
		}
	}
}

// barred reports whether the policy keeps a lever from running here.
func (d *Draft) barred(l Lever, o PlanOptions) bool {
	switch l {
	case LeverMask, LeverSupersede:
		return d.p.Mask.ByProvider
	case LeverSnip:
		// A digest says the same and more, and keeps as many of the newest turns as fit.
		byModel := d.p.Snip.Format == "" && slices.Contains(d.p.Levers, LeverDigest) && o.Levers == nil && d.digested()
		return d.p.Snip.Main && o.Child || byModel
	case LeverDigest: // collapse takes the place of the automatic digest
		return d.p.Collapse.Only && d.p.Collapse.Rounds > 0 && o.Trigger != TriggerAsked && o.Trigger != TriggerRefused
	}
	return false
}

// maskFrom folds the old results from message i on: what was found to pay.
func (d *Draft) maskFrom(i int) {
	for _, ref := range d.old() {
		bf := &d.s.Facts[ref.Message].Blocks[ref.Block]
		if ref.Message < i || int(bf.Chars) < d.p.Mask.Min || !d.maskable(ref) {
			continue
		}
		text, parts := d.stubFor(ref, d.p.Mask.Format, "")
		d.foldBlock(ref, LeverMask, "old result; folding it saves money", text, parts)
	}
}

// plan turns the draft into a plan: folds that a later lever of the same planning made
// moot are left out, and the view's tokens are counted once more from scratch.
func (d *Draft) plan(o PlanOptions) *Plan {
	p := &Plan{Epoch: d.s.Epochs + 1, Trigger: o.Trigger, Focus: o.Focus, Before: d.s.Parts.Total(), Limits: o.Limits, Need: d.need}
	if len(d.added) == 0 && d.in.Bare == d.s.InUse.Bare {
		p.After = p.Before
		return p
	}
	if o.Binds {
		d.unbind(p)
	}
	live := make(map[*Fold]bool)
	for _, f := range d.in.spans {
		live[f] = true
	}
	for _, f := range d.in.blocks {
		live[f] = true
	}
	first := d.s.Transcript.Len()
	for _, f := range d.added {
		if live[f] {
			f.ID = len(d.s.Folds) + len(p.Folds) + 1
			p.Folds = append(p.Folds, f)
			first = min(first, f.Start)
		}
	}
	parts, _ := d.s.RenderedParts(d.in)
	p.In, p.After, p.Kept = d.in, parts.Total(), d.thrash
	if d.in.Bare != d.s.InUse.Bare {
		p.bares = p.After < p.Before
		first = min(first, d.s.InUse.Bare)
	}
	p.Cache = cacheCost(o.Rates, p.Before-p.After, d.tokensIn(first, d.s.asked), d.s.expected(), o.Cold)
	if p.After > o.Limits.Max {
		p.Warning = fmt.Sprintf("%s tokens are more than the %s that may be sent", text.Thousands(p.After), text.Thousands(o.Limits.Max))
	}
	return p
}

// unbind deals with thinking that is bound to the exact bytes before it: every fold
// makes all later thinking invalid. At a turn that a person began all of it may go;
// inside a run the provider is asked to drop what does not verify.
func (d *Draft) unbind(p *Plan) {
	if n := d.s.Transcript.Len(); n > 0 && d.s.Facts[n-1].Typed {
		d.setBare(n)
		return
	}
	p.DropThinking = true
}
