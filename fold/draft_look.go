package fold

import (
	"slices"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// What levers ask a draft: about the view, about places in the conversation, about what is
// known of it, and about the draft's folds.

// Enough reports whether the view is small enough to stop. With [TriggerPays] it is from the start:
// a [Saver] that is pulled to save money goes on.
func (d *Draft) Enough() bool { return d.total <= d.Goal }

// Tokens returns the size of the view with what is folded so far, system prompt and tools
// included.
func (d *Draft) Tokens() int { return d.total }

// TokensIn returns what the view spends on messages start ≤ i < end, stubs included.
func (d *Draft) TokensIn(start, end int) int {
	start, end = d.within(start, end)
	n := d.shownIn(start, end)
	from, to := d.lay.In.inside(start, end)
	for _, f := range d.lay.In.spans[from:to] {
		n += f.After
	}
	return n
}

// shownIn is what the view spends on those messages that are not part of a folded stretch.
func (d *Draft) shownIn(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		if !d.lay.In.covered(i) {
			parts, _ := d.lay.PartsOf(i)
			n += parts.Total()
		}
	}
	return n
}

// Count counts a text's tokens.
func (d *Draft) Count(text string) int { return d.Source.Tokens().CountText(text) }

// Fixed returns the tokens of what only squeeze gives up: system prompt, tools and the
// head, and what stands whatever is folded.
func (d *Draft) Fixed() int {
	standing := d.shown(d.standing(d.head, d.len()))
	return d.o.Head.Total() + d.TokensIn(0, d.head) + standing.Total()
}

// Most returns the most tokens that the view may have: pins that it does not show yet come on
// top of what the levers leave.
func (d *Draft) Most() int {
	_, pins := d.missingPins()
	return d.Limits.Max - pins.Total()
}

// Facts returns what is known of the messages without their words.
func (d *Draft) Facts() transcript.Facts { return d.facts }

func (d *Draft) len() int { return len(d.facts) }

// within moves the ends of a stretch into the conversation.
func (d *Draft) within(start, end int) (int, int) {
	start = min(max(start, 0), d.len())
	return start, min(max(start, end), d.len())
}

// Marks are the places in a conversation that levers go by. A place is the number of
// messages before it.
type Marks struct {
	Prompt  int // behind the system prompt, which is never folded
	Opening int // the first answer
	Head    int // what comes before it stays as long as anything else can go
	Seen    int // what comes before it counts as seen by a model
	Unseen  int // the first round with a result that no model has seen; the end if there is none
	Newest  int // the current work: the newest round or message, and every round with an unseen result
	Closed  int // a round that still waits for results, as when its own call asked for compaction, or the end
	End     int // the number of messages

	Turn  int // the newest message that a person typed to begin a turn, not beside results; -1: none
	Typed int // the newest message that a person typed; -1: none
}

// Marks returns the places in the draft's conversation.
func (d *Draft) Marks() Marks {
	n := d.len()
	m := Marks{
		Prompt: d.prompt, Opening: d.opening, Head: d.head, Seen: d.seen, Unseen: d.firstUnseen(),
		Closed: n, End: n, Turn: d.lastTyped(d.turn), Typed: d.lastTyped(n),
	}
	rounds := d.Source.Rounds()
	if k := len(rounds); k > 0 && rounds[k-1].Open() && rounds[k-1].End == n {
		m.Closed = d.Back(rounds[k-1].Start)
	}
	if n > 0 {
		m.Newest = min(n-1, m.Unseen)
		for _, r := range slices.Backward(rounds) {
			if r.End == n {
				m.Newest = min(m.Newest, r.Start)
			}
		}
		m.Newest = d.Back(m.Newest)
	}
	return m
}

// firstUnseen returns where the first round with a result that no model has seen begins. No
// stretch that goes further can be folded; see [Draft.Allow].
func (d *Draft) firstUnseen() int {
	for _, r := range d.Source.Rounds() {
		if d.hidesUnseen(r.Start, r.End) {
			return d.Back(r.Start)
		}
	}
	return d.len()
}

// lastTyped returns the newest message before place i that a person typed, or -1.
func (d *Draft) lastTyped(i int) int {
	for i--; i >= 0 && !d.facts[i].Typed; i-- {
	}
	return i
}

// Back moves a place back to where a cut leaves every round whole.
func (d *Draft) Back(i int) int {
	for i = min(max(i, 0), d.len()); i > 0 && !d.safe[i]; {
		i--
	}
	return i
}

// Fit moves the ends of a stretch to where it can be folded: the start back to that of a
// round or a folded stretch that it would cut, but not into the system prompt, the end back to
// where what comes before the stretch and after it may be neighbours. If nothing is left, start
// and end are equal. Results that no model has seen are for the caller to leave out: an end after
// [Marks].Unseen is refused, see [Draft.Allow].
func (d *Draft) Fit(start, end int) (int, int) {
	in := &d.lay.In
	if k := in.reaching(start); k < len(in.spans) && in.spans[k].Start < start {
		start = in.spans[k].Start
	}
	start, end = max(d.Back(start), d.facts.Prompt()), d.Back(end)
	for end > start && !d.joins(start, end, true) {
		end = d.Back(end - 1)
	}
	return start, max(start, end)
}

// Results lists the tool results that are not inside a folded stretch, oldest first. Facts().Block(ref).Call is
// the number of the result's call, with which Source.Ledger().Entry tells the tool; 0: the call is not known.
func (d *Draft) Results() []transcript.BlockRef {
	var out []transcript.BlockRef
	for i := range d.facts {
		if d.lay.In.covered(i) {
			continue
		}
		for b := range d.facts[i].Blocks {
			if d.facts[i].Blocks[b].Kind == transcript.KindToolResult {
				out = append(out, transcript.BlockRef{Message: i, Block: b})
			}
		}
	}
	return out
}

// Maskable reports whether a result may be folded: it is not fixed, kept, of an exempt tool, or
// already folded to a stub of at most [StubTokens]. A longer stub, with a preview, may still
// become a short one.
func (d *Draft) Maskable(ref transcript.BlockRef, exempt []string) bool {
	if d.Keep[ref] || !d.has(ref) {
		return false
	}
	r := d.lay.Result(ref)
	return r.Maskable(exempt)
}

// Calls returns the calls in messages start ≤ i < end. They have handles if stubs say how to
// get content back.
func (d *Draft) Calls(start, end int) []ledger.Entry {
	if start, end = d.within(start, end); start == end {
		return nil
	}
	f := ledger.Filter{FromMessage: start, ToMessage: end}
	if d.o.Recall == nil {
		return d.Source.Ledger().Select(f)
	}
	return d.Source.Ledger().SelectNamed(f, d.facts)
}

// Folds returns the draft's folds, those in force included, to look at: [Make] refuses a plan whose
// set of folds a lever has changed.
func (d *Draft) Folds() *Set { return &d.lay.In }

// Added returns the folds that levers have added, in order. Later ones may have replaced some
// of them.
func (d *Draft) Added() []*Fold { return slices.Clone(d.added) }
