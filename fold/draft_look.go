package fold

import (
	"iter"
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Enough reports whether the view is small enough to stop.
func (d *Draft) Enough() bool { return d.total <= d.Goal }

// Tokens is the size of the view with what is folded so far, system prompt and tools
// included.
func (d *Draft) Tokens() int { return d.total }

// Count counts a text's tokens.
func (d *Draft) Count(text string) int { return d.s.Count.CountText(text) }

// Len is the number of messages.
func (d *Draft) Len() int { return d.s.Transcript.Len() }

// Block returns a block of the transcript.
func (d *Draft) Block(ref transcript.BlockRef) transcript.Block { return d.s.Transcript.Block(ref) }

// Message is what is known of message i without its words.
func (d *Draft) Message(i int) *conv.MessageFacts { return &d.s.Facts[i] }

// Facts is what is known of a block without its words.
func (d *Draft) Facts(ref transcript.BlockRef) *conv.BlockFacts {
	return &d.s.Facts[ref.Message].Blocks[ref.Block]
}

// Ledger is what was done in the conversation.
func (d *Draft) Ledger() *ledger.Ledger { return &d.s.Ledger }

// Rounds yields the rounds in order.
func (d *Draft) Rounds() iter.Seq[transcript.Round] { return d.s.Transcript.AllRounds() }

// Prompt is the number of system and developer messages at the beginning: on some wires
// they are the system prompt, which is never folded.
func (d *Draft) Prompt() int { return d.s.Prompt() }

// Head is the number of messages at the beginning that stay as they are: those before the
// first answer, or only the prompt where the policy folds the head.
func (d *Draft) Head() int {
	if d.p.FoldHead {
		return d.Prompt()
	}
	return d.s.First
}

// Fixed is what the parts that no lever folds take: system prompt, tools and the head.
func (d *Draft) Fixed() int { return d.s.Head.Total() + d.TokensIn(0, d.Head()) }

// Attainable is the smallest goal worth aiming at: the fixed parts and a third of the room
// that they leave, but no more than so many tokens of it. Below it a page has no room to
// say anything.
func (d *Draft) Attainable(most int) int {
	fixed := d.Fixed()
	return fixed + min((d.Limits.Max-fixed)/3, most)
}

// Safe reports whether a cut before message i leaves every round whole.
func (d *Draft) Safe(i int) bool { return d.safe[i] }

// Seen reports whether a model has seen message i.
func (d *Draft) Seen(i int) bool { return i < d.s.asked }

// LastTyped is the newest message that a person typed, or -1.
func (d *Draft) LastTyped() int {
	for i := d.Len() - 1; i >= 0; i-- {
		if d.s.Facts[i].Typed {
			return i
		}
	}
	return -1
}

// EpochStarts are the lengths that the transcript had at the newest n epochs in force,
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

// Maskable reports whether a result may be folded, or a stub with a preview may lose it.
// Results of the exempt tools may not.
func (d *Draft) Maskable(ref transcript.BlockRef, exempt []string) bool {
	return !d.kept[ref] && d.s.maskable(ref, exempt, d.in)
}

// Folded is the fold that replaces a single block; nil: none does.
func (d *Draft) Folded(ref transcript.BlockRef) *Fold { return d.in.blocks[ref] }

// HasSpan reports whether the draft has replaced whole messages.
func (d *Draft) HasSpan() bool { return slices.ContainsFunc(d.added, (*Fold).whole) }

// Messages is the number of messages that the view shows, pleat's own apart.
func (d *Draft) Messages() int {
	n := d.Len()
	for _, f := range d.in.spans {
		n -= f.End - f.Start
	}
	return n
}

// LastSpan is the end of the newest folded stretch; 0: there is none.
func (d *Draft) LastSpan() int {
	if n := len(d.in.spans); n > 0 {
		return d.in.spans[n-1].End
	}
	return 0
}

// Keep makes a result stay whole for the rest of the draft.
func (d *Draft) Keep(ref transcript.BlockRef) { d.kept[ref] = true }

// Kept reports whether a result has to stay whole.
func (d *Draft) Kept(ref transcript.BlockRef) bool { return d.kept[ref] }

// Reread notes a file that the agent reads again after every epoch: pages restore it first,
// and the plan names it.
func (d *Draft) Reread(path string) { d.reread = append(d.reread, path) }

// ShowAgain takes back the fold of a result, down to the stub it was born with. It reports
// whether the view still meets the goal then; if not, the fold stays.
func (d *Draft) ShowAgain(ref transcript.BlockRef) bool {
	f := d.in.blocks[ref]
	if f == nil || d.s.isLate(ref, d.in) {
		return true
	}
	born := d.s.born[ref]
	grow := int(d.Facts(ref).Tokens) - f.After
	if born != nil {
		grow = born.After - f.After
	}
	if d.total+grow > d.Goal {
		return false
	}
	d.total += grow
	if delete(d.in.blocks, ref); born != nil {
		d.in.blocks[ref] = born
	}
	return true
}

// Opening is the number of messages before the first answer.
func (d *Draft) Opening() int { return d.s.First }

// Overhead is what the system prompt and the tools take.
func (d *Draft) Overhead() int { return d.s.Head.Total() }

// CoveredAny reports whether any of messages start ≤ i < end is part of a folded stretch.
func (d *Draft) CoveredAny(start, end int) bool {
	for i := start; i < end; i++ {
		if d.Covered(i) {
			return true
		}
	}
	return false
}

// LastAdded is the fold that was added last; nil: none was.
func (d *Draft) LastAdded() *Fold {
	if len(d.added) == 0 {
		return nil
	}
	return d.added[len(d.added)-1]
}
