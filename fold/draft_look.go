package fold

import (
	"iter"
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// What levers ask a draft: first about the view, then about places in the conversation,
// then about what is known of it, then about the draft's folds.

// Enough reports whether the view is small enough to stop.
func (d *Draft) Enough() bool { return d.total <= d.Goal }

// Tokens returns the size of the view with what is folded so far, system prompt and tools
// included.
func (d *Draft) Tokens() int { return d.total }

// TokensIn returns what the view spends on messages start ≤ i < end, stubs included.
func (d *Draft) TokensIn(start, end int) int {
	n := d.shownIn(start, end)
	from, to := d.in.inside(start, end)
	for _, f := range d.in.spans[from:to] {
		n += f.After
	}
	return n
}

// shownIn is what the view spends on those messages that are not part of a folded stretch.
func (d *Draft) shownIn(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		if !d.Covered(i) {
			parts, _ := d.s.PartsShown(i, d.in)
			n += parts.Total()
		}
	}
	return n
}

// FoldsIn yields the folds in force in messages start ≤ i < end: of whole stretches, then of
// single blocks.
func (d *Draft) FoldsIn(start, end int) iter.Seq[*Fold] {
	return func(yield func(*Fold) bool) {
		from, to := d.in.inside(start, end)
		for _, f := range d.in.spans[from:to] {
			if !yield(f) {
				return
			}
		}
		for i := start; i < end; i++ {
			for b := range d.s.Facts[i].Blocks {
				if f := d.in.blocks[transcript.BlockRef{Message: i, Block: b}]; f != nil && !yield(f) {
					return
				}
			}
		}
	}
}

// Count counts a text's tokens.
func (d *Draft) Count(text string) int { return d.s.Count.CountText(text) }

// Whole returns the tokens of all messages without folds.
func (d *Draft) Whole() int { return d.s.Whole }

// Overhead returns the tokens of the system prompt and the tools.
func (d *Draft) Overhead() int { return d.s.Head.Total() }

// Fixed returns the tokens of what only squeeze gives up: system prompt, tools and the
// head.
func (d *Draft) Fixed() int { return d.Overhead() + d.TokensIn(0, d.Head()) }

// Attainable returns the smallest goal worth aiming at: the fixed parts and a third of what
// they leave free, but at most so many tokens of it. With less, a page has no room to say
// anything.
func (d *Draft) Attainable(most int) int {
	fixed := d.Fixed()
	return fixed + min((d.Limits.Max-fixed)/3, most)
}

// Messages returns how many messages of the conversation the view shows.
func (d *Draft) Messages() int {
	n := d.Len()
	for _, f := range d.in.spans {
		n -= f.End - f.Start
	}
	return n
}

// Len returns the number of messages.
func (d *Draft) Len() int { return d.s.Transcript.Len() }

// Prompt returns the number of system and developer messages at the beginning: on some
// wires they are the system prompt, which is never folded.
func (d *Draft) Prompt() int { return d.s.Prompt() }

// Injected reports whether message i is known to come from a program.
func (d *Draft) Injected(i int) bool {
	return d.s.Transcript.At(i).Origin() == transcript.OriginInjected
}

// Opening returns the number of messages before the first answer.
func (d *Draft) Opening() int { return d.s.First }

// Head returns the number of messages at the beginning that stay as long as anything else
// can go: the opening, or only the prompt where the policy folds the head.
func (d *Draft) Head() int {
	if d.p.FoldHead {
		return d.Prompt()
	}
	return d.Opening()
}

// Safe reports whether a cut before message i leaves every round whole.
func (d *Draft) Safe(i int) bool { return d.safe[i] }

// Back moves a place back to where cutting is safe.
func (d *Draft) Back(i int) int {
	for i > 0 && !d.safe[i] {
		i--
	}
	return i
}

// Tail returns the last safe place with at least keep messages after it.
func (d *Draft) Tail(keep int) int { return d.Back(max(d.Len()-keep, 0)) }

// Newest returns the place where the current work begins: the newest round, or the newest
// message if that is not part of a round, and every round with a result that no model has
// seen.
func (d *Draft) Newest() int {
	n := d.Len()
	if n == 0 {
		return 0
	}
	at := min(n-1, d.Unseen())
	for i := d.s.Transcript.Rounds() - 1; i >= 0; i-- {
		if r := d.s.Transcript.Round(i); r.End == n {
			at = min(at, r.Start)
		}
	}
	return d.Back(at)
}

// Unseen returns the place of the first round with a result that no model has seen; the end if
// there is none. No stretch that goes further can be folded; see [Draft.AllowUnseen].
func (d *Draft) Unseen() int {
	for i := range d.s.Transcript.Rounds() {
		if r := d.s.Transcript.Round(i); d.hidesUnseen(r.Start, r.End) {
			return d.Back(r.Start)
		}
	}
	return d.Len()
}

// Closed returns the place where a round begins that still waits for results, as when its
// own call asked for compaction; there is none: the end. What comes before it can go.
func (d *Draft) Closed() int {
	n := d.Len()
	if k := d.s.Transcript.Rounds(); k > 0 {
		if r := d.s.Transcript.Round(k - 1); r.Open() && r.End == n {
			return d.Back(r.Start)
		}
	}
	return n
}

// Widened moves the start of a stretch back to that of a folded one it would cut.
func (d *Draft) Widened(start int) int {
	if k := d.in.reaching(start); k < len(d.in.spans) && d.in.spans[k].Start < start {
		return d.in.spans[k].Start
	}
	return start
}

// Block returns a block of the transcript.
func (d *Draft) Block(ref transcript.BlockRef) transcript.Block { return d.s.Transcript.Block(ref) }

// Message returns what is known of message i without its words.
func (d *Draft) Message(i int) *conv.MessageFacts { return &d.s.Facts[i] }

// Facts returns what is known of a block without its words.
func (d *Draft) Facts(ref transcript.BlockRef) *conv.BlockFacts {
	return &d.s.Facts[ref.Message].Blocks[ref.Block]
}

// Ledger returns what was done in the conversation.
func (d *Draft) Ledger() *ledger.Ledger { return &d.s.Ledger }

// Calls returns the calls in messages start ≤ i < end. They have handles if stubs say how to
// get content back.
func (d *Draft) Calls(start, end int) []ledger.Entry {
	f := ledger.Filter{FromMessage: start, ToMessage: end}
	if d.s.Recall == nil {
		return d.s.Ledger.Select(f)
	}
	return d.s.SelectCalls(f)
}

// Rounds yields the rounds in order.
func (d *Draft) Rounds() iter.Seq[transcript.Round] { return d.s.Transcript.AllRounds() }

// Results lists the tool results that are not inside a folded stretch, oldest first.
func (d *Draft) Results() []transcript.BlockRef {
	var out []transcript.BlockRef
	for i := range d.s.Facts {
		if d.Covered(i) {
			continue
		}
		for b := range d.s.Facts[i].Blocks {
			if d.s.Facts[i].Blocks[b].Kind == transcript.KindToolResult {
				out = append(out, transcript.BlockRef{Message: i, Block: b})
			}
		}
	}
	return out
}

// Seen reports whether a model has seen message i.
func (d *Draft) Seen(i int) bool { return i < d.seen }

// Turn returns the newest message that a person typed to begin a turn, rather than beside
// results; -1: none. Providers let the thinking before it go.
func (d *Draft) Turn() int {
	for i := min(d.s.openTurn(), d.Len()) - 1; i >= 0; i-- {
		if d.s.Facts[i].Typed {
			return i
		}
	}
	return -1
}

// LastTyped returns the newest message that a person typed, or -1.
func (d *Draft) LastTyped() int {
	for i := d.Len() - 1; i >= 0; i-- {
		if d.s.Facts[i].Typed {
			return i
		}
	}
	return -1
}

// EpochStarts returns the lengths that the transcript had at the newest n epochs in force,
// oldest first; nil if there were fewer.
func (d *Draft) EpochStarts(n int) []int {
	at := d.s.inEffect()
	if len(at) < n {
		return nil
	}
	var starts []int
	for _, k := range at[len(at)-n:] {
		starts = append(starts, d.s.History[k].Messages)
	}
	return starts
}

// Maskable reports whether a result may be folded or, if it was spilled, whether its preview
// may go. Results of the exempt tools may not.
func (d *Draft) Maskable(ref transcript.BlockRef, exempt []string) bool {
	return !d.kept[ref] && d.s.maskable(ref, exempt, d.in)
}

// Kept reports whether a result has to stay whole; see [Draft.Keep].
func (d *Draft) Kept(ref transcript.BlockRef) bool { return d.kept[ref] }

// Folded returns the fold that replaces a single block; nil: none does.
func (d *Draft) Folded(ref transcript.BlockRef) *Fold { return d.in.blocks[ref] }

// Covered reports whether message i is part of a folded stretch.
func (d *Draft) Covered(i int) bool { return d.in.covered(i) }

// CoveredAny reports whether any of messages start ≤ i < end is part of a folded stretch.
func (d *Draft) CoveredAny(start, end int) bool {
	for i := start; i < end; i++ {
		if d.Covered(i) {
			return true
		}
	}
	return false
}

// Bare returns the message before which thinking is not shown.
func (d *Draft) Bare() int { return d.in.Bare }

// HasSpan reports whether the draft has replaced whole messages.
func (d *Draft) HasSpan() bool { return slices.ContainsFunc(d.added, (*Fold).Whole) }

// LastSpan returns the end of the newest folded stretch; 0: there is none.
func (d *Draft) LastSpan() int {
	if n := len(d.in.spans); n > 0 {
		return d.in.spans[n-1].End
	}
	return 0
}

// LastAdded returns the fold that was added last; nil: none was.
func (d *Draft) LastAdded() *Fold {
	if len(d.added) == 0 {
		return nil
	}
	return d.added[len(d.added)-1]
}
