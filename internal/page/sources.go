package page

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// source is a text that lines of a page are taken from, with what it is worth.
type source struct {
	*minedPart
	ref     transcript.BlockRef
	sub     int // which text of the block
	handle  transcript.Handle
	call    int     // number of the ledger's entry, 0: none
	group   int     // equal for sources whose lines are shown together
	answers int     // what the assistant said to the user: the message that it answers; else -1
	weight  float32 // of everything in it
}

// text returns the source's text. If it has become unreadable since it was mined, there are
// spaces where its lines were.
func (in *input) text(s *source) string {
	text, end := "", 0
	if parts := in.textsAt(s.ref); s.sub < len(parts) {
		text = parts[s.sub].text
	}
	if n := len(s.lines); n > 0 {
		end = int(s.lines[n-1].end)
	}
	for _, u := range s.units {
		end = max(end, u.End)
	}
	return text + strings.Repeat(" ", max(end-len(text), 0))
}

type sourceKind uint8

const (
	fromAssistant sourceKind = iota // what the assistant said
	fromSummary                     // another agent's summary of what it compacted away
	fromAgent                       // a child agent's report
	fromChange                      // what a call put into a file
	fromRemoval                     // what a call took out of a file
	fromResult                      // what a tool answered
	fromProgram                     // what a program put into a user message
)

// prose reports whether the source is written in sentences.
func (k sourceKind) prose() bool { return k <= fromAgent }

// change reports whether the source is old or new text of a file: what changed has its own
// section of the page.
func (k sourceKind) change() bool { return k == fromChange || k == fromRemoval }

// sourceWeights says what a source of each kind is worth. What the assistant says tells what
// its work came to; a line of a file is one call away. What it thought is not a source: a page
// without its lines answers questions as well.
var sourceWeights = [...]float32{
	fromAssistant: 1, fromSummary: 1.5, fromAgent: 0.6,
	fromResult: 0.2, fromProgram: 0.2,
}

// finalWeight is what counts that is said to the user, against what is said on the way.
const finalWeight = 2

// sources lists the texts of the folded stretch, in order.
func (in *input) sources() []source {
	var list []source
	first := max(slices.Min(in.mineFrom[:]), in.Start)
	turn := first - 1 // the message that began the present turn
	for turn >= 0 && !in.Facts()[turn].Typed {
		turn--
	}
	working := in.working(first)
	span := float32(max(in.End-in.Start, 1))
	for i := first; i < in.End; i++ {
		f := &in.Facts()[i]
		if f.Typed {
			turn = i
		}
		for b := range f.Blocks {
			n := len(list)
			list = in.blockSources(list, transcript.BlockRef{Message: i, Block: b})
			for k := n; k < len(list); k++ {
				s := &list[k]
				newer := 0.7 + 0.5*float32(i-in.Start)/span // is likelier to be needed
				s.weight *= sourceWeights[s.kind] * newer
				if s.kind == fromAssistant && !working[i-first] {
					s.answers, s.weight = turn, s.weight*finalWeight
				}
			}
		}
	}
	return list
}

// working says for each message from the first on whether it belongs to a round: what the
// assistant says outside of rounds is said to the user.
func (in *input) working(first int) []bool {
	work := make([]bool, in.End-first)
	for _, r := range slices.Backward(in.Rounds()) {
		if r.End <= first {
			break
		}
		for i := max(r.Start, first); i < min(r.End, in.End); i++ {
			work[i-first] = true
		}
	}
	return work
}

// isSource reports whether lines of a block may be on the page. A call that failed is no source, nor
// is a result that other sections show.
func (in *input) isSource(ref transcript.BlockRef) bool {
	if in.tooOld(ref) {
		return false
	}
	bf := in.Facts().Block(ref)
	if bf.Call == 0 {
		return true
	}
	e := &in.Ledger().Entries[bf.Call-1]
	if bf.Kind == transcript.KindToolCall {
		return e.Effective()
	}
	return e.Outcome != toolcall.Succeeded || !ledger.IsFileCall(e) && (!ledger.Publishes(e) || e.Lines > 20)
}

// blockSources appends the sources in a block. Calls and results that do not count give
// none.
func (in *input) blockSources(list []source, ref transcript.BlockRef) []source {
	if !in.isSource(ref) {
		return list
	}
	bf := in.Facts().Block(ref)
	for k, part := range in.mine(ref) {
		again := in.Room.Beside && (part.kind == fromSummary || part.kind == fromProgram)
		if len(part.lines) > 0 && part.kind != fromRemoval && !again {
			list = append(list, source{
				minedPart: &part, ref: ref, sub: k, handle: bf.Handle, call: int(bf.Call), answers: -1, weight: 1,
			})
		}
	}
	return list
}

// callSubject returns what a call is about: its file, or its command.
func callSubject(e *ledger.Entry) string {
	switch {
	case e.Kind == toolcall.CallRead && len(e.Paths) == 1 && !e.Paths[0].Some:
		return e.Paths[0].Path
	case e.Args != "":
		return text.OneLine(e.Args, 80)
	}
	return e.Tool
}
