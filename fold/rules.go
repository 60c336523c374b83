package fold

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// refusal is a rule that kept a lever from folding something.
type refusal struct {
	lever, why string
	message    int // the first one
	times      int
}

func (d *Draft) refuse(lever, why string, message int) {
	for i := range d.refused {
		if r := &d.refused[i]; r.lever == lever && r.why == why {
			r.times++
			return
		}
	}
	d.refused = append(d.refused, refusal{lever, why, message, 1})
}

// refusals tells of the levers that were refused folds and have none among these.
func (d *Draft) refusals(folds []*Fold) (out []string) {
	for _, r := range d.refused {
		if slices.ContainsFunc(folds, func(f *Fold) bool { return f.Lever == r.lever }) {
			continue
		}
		line := fmt.Sprintf("%s at message %d: %s", r.lever, r.message+1, r.why)
		if r.times > 1 {
			line += fmt.Sprintf(" (and %d more)", r.times-1)
		}
		out = append(out, line)
	}
	return out
}

// noLever says what is wrong where a lever did not say that it is the one that folds.
const noLever = "pass the lever that folds, which is nil"

// barsBlock says why a block may not be replaced by a stub, whatever that saves; empty: it may.
func (d *Draft) barsBlock(ref transcript.BlockRef, stub string) string {
	if !d.has(ref) {
		return fmt.Sprintf("there is no block %d", ref.Block)
	}
	bf := d.facts.Block(ref)
	switch {
	case ref.Message < d.facts.Prompt() && d.facts[ref.Message].Origin != transcript.OriginInjected:
		return "the system prompt stays"
	case bf.Fixed:
		return "a block of this kind goes only with its message"
	case bf.Kind == transcript.KindToolResult && !d.unseen && ref.Message >= d.seen:
		return "no model has seen the result"
	case d.lay.In.covered(ref.Message):
		return "its message is in a folded stretch"
	case d.lay.late(ref):
		return "the result's call is folded"
	case text.Blank(stub):
		return "the stub is blank"
	case bf.Kind == transcript.KindToolCall && !bf.Text && !isObject(stub):
		return "the stub of this call must be a JSON object, as its input is"
	}
	return ""
}

// barsSpan says why a stretch may not be folded, whatever that saves; empty: it may.
func (d *Draft) barsSpan(start, end int, stub bool) string {
	switch {
	case d.o.NoSpans:
		return "only single blocks may be folded now"
	case start < d.facts.Prompt():
		return "the system prompt stays"
	case start >= end || end > d.len():
		return fmt.Sprintf("there is no stretch from there to before message %d", end+1)
	case !d.safe[start] || !d.safe[end] || !d.lay.In.apart(start, end):
		return "the stretch cuts a round or a folded stretch: see Draft.Fit"
	case !d.joins(start, end, stub):
		return "what comes before the stretch and after it may not be neighbours: see Draft.Fit"
	case !d.unseen && d.hidesUnseen(start, end):
		return "no model has seen a result in the stretch"
	}
	return ""
}

// has reports whether there is such a block.
func (d *Draft) has(ref transcript.BlockRef) bool {
	return 0 <= ref.Message && ref.Message < d.len() &&
		0 <= ref.Block && ref.Block < len(d.facts[ref.Message].Blocks)
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// joins reports whether what the view shows before a stretch and after it may be
// neighbours once the stretch is folded: a system message comes after the user and before
// an answer, or last. A stub comes before the system messages that precede its stretch.
func (d *Draft) joins(start, end int, stub bool) bool {
	next := d.lay.In.past(end)
	switch {
	case d.behindSystem(start):
		return !d.speaks(next)
	case d.leavesSystem(start, end):
		return stub // see acknowledged
	case next == d.len() || !d.facts.System(next) || stub:
		return true
	}
	at := d.lay.In.before(start)
	return at >= 0 && d.facts[at].Role != transcript.RoleAssistant
}

// beginsWithAnswer reports whether nobody would have spoken before the first answer of the view,
// which no provider takes, because of a fold without a stub.
func (d *Draft) beginsWithAnswer(f *Fold) bool {
	in, first := &d.lay.In, d.facts.Prompt()
	if f.Stub != "" || first == d.len() || d.facts[first].Role == transcript.RoleAssistant ||
		in.before(f.Start) >= first || len(in.spans) > 0 && in.spans[0].End <= f.Start && in.spans[0].Stub != "" {
		return false
	}
	next := in.past(f.End)
	return f.Ack != "" || f.Then == "" && next < d.len() && d.facts[next].Role == transcript.RoleAssistant
}

// speaks reports whether message i is one that no system message may come before.
func (d *Draft) speaks(i int) bool {
	return i < d.len() && (d.facts[i].Role == transcript.RoleUser || d.facts[i].Role == transcript.RoleTool)
}

// leavesSystem reports whether a system message is the last that a stretch still shows.
func (d *Draft) leavesSystem(start, end int) bool {
	for i := range d.standing(start, end) {
		return d.facts.System(i)
	}
	return false
}

func (d *Draft) endInSystem(list []int) bool {
	return len(list) > 0 && d.facts.System(list[len(list)-1])
}

// behindSystem reports whether the view shows a system message before place i, other than
// the prompt. Stubs do not count: they stand before it.
func (d *Draft) behindSystem(i int) bool {
	at := d.lay.In.before(i)
	for k := d.lay.In.reaching(at + 1); k < len(d.lay.In.spans) && d.lay.In.spans[k].End <= i; k++ {
		if d.endInSystem(d.lay.In.spans[k].Stands) {
			return true
		}
	}
	return at >= d.facts.Prompt() && d.facts.System(at)
}

// hidesUnseen reports whether messages start ≤ i < end hold a result that no model has seen.
func (d *Draft) hidesUnseen(start, end int) bool {
	for i := max(start, d.seen); i < end; i++ {
		if d.facts.Has(i, transcript.KindToolResult) {
			return true
		}
	}
	return false
}
