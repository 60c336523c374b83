package fold

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// folding is a conversation and the folds in force: what a view is computed from.
type Folding struct {
	*conv.Conversation
	Recall func(handle string) string // how stubs say to get content back; nil: they do not
	Head   Parts                      // system and tools
	Policy *Policy                    // which stretches will be measured; nil: not known

	answers int // runs of assistant messages: requests that were answered
	asked   int // number of messages that the newest of them was asked with
	spent   spending

	Folds  []*Fold // every fold ever made; number i+1
	InUse  Folded
	Epochs int // number of the newest epoch
	Epoch  int // number of the epoch in force, which is an older one after an undo; 0: none
	Shown  ShownView
	Parts  Parts // of the view, head included

	Unbound   int                           // thinking in messages before this one may no longer verify
	lastParts Parts                         // of the newest message
	born      map[transcript.BlockRef]*Fold // spilled at birth: what is never shown whole
	History   []EpochData                   // epochs and undos, oldest first
	Pinned    []string
	Notes     []transcript.Note
	Told      []conv.Narrative // digests by a model that can be used, newest last
	EpochSeq  uint64           // number of the newest epoch's entry
	pages     Writer           // writes the pages that stand for folded turns
}

// folded is a set of folds in force.
type Folded struct {
	spans  []*Fold // whole messages: ascending, disjoint
	blocks map[transcript.BlockRef]*Fold
	Bare   int // messages before this one are shown without thinking
}

// newFolding makes the folding of a conversation, with no fold in force.
func NewFolding(c *conv.Conversation, pages Writer) *Folding {
	s := &Folding{Conversation: c, pages: pages, born: make(map[transcript.BlockRef]*Fold), InUse: Folded{blocks: make(map[transcript.BlockRef]*Fold)}}
	c.Starts = s.stretchStarts
	return s
}

// record takes a new message in and shows it.
func (s *Folding) Record(m transcript.Message, shapes []conv.BlockShape, at conv.KeptMessage) {
	i := s.Transcript.Len()
	if m.Role() == transcript.RoleAssistant && (i == 0 || s.Facts[i-1].Role != transcript.RoleAssistant) {
		s.answered()
	}
	s.Add(m, shapes, at)
	s.show(i)
}

// appendShown appends what the view shows of message i, which is not part of a folded
// stretch. Nothing is left of a message whose only blocks are dropped thinking. A result
// that arrives when its call is already folded cannot stand alone: a message of pleat's
// own says that it came.
func (s *Folding) appendShown(view []transcript.ViewMessage, i int, in Folded) ([]transcript.ViewMessage, Parts) {
	f := &s.Facts[i]
	vm := transcript.ViewMessage{Source: i}
	var parts Parts
	var late []string
	left := len(f.Blocks)
	drop := func(b int) {
		vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Drop: true})
		left--
	}
	for b := range f.Blocks {
		bf := &f.Blocks[b]
		ref := transcript.BlockRef{Message: i, Block: b}
		switch fold := in.blocks[ref]; {
		case bf.Kind == transcript.KindThinking && i < in.Bare:
			drop(b)
		case s.isLate(ref, in):
			drop(b)
			late = append(late, s.lateStub(ref))
		case fold != nil:
			vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Text: fold.Stub})
			parts.add(fold.Parts, 1)
		default:
			*parts.of(bf.Kind, f.Role) += int(bf.Tokens)
		}
	}
	if left > 0 || len(f.Blocks) == 0 {
		*parts.of(transcript.KindText, f.Role) += int(f.Extra)
		view = append(view, vm)
	}
	if len(late) > 0 {
		m := transcript.User(strings.Join(late, "\n")).WithOrigin(transcript.OriginInjected)
		parts.Stubs += s.Count.CountMessage(m)
		view = append(view, transcript.ViewMessage{Source: -1, Made: m})
	}
	return view, parts
}

// isLate reports whether a block is a result whose call is part of a folded stretch.
func (s *Folding) isLate(ref transcript.BlockRef, in Folded) bool {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	if bf.Kind != transcript.KindToolResult || bf.Call == 0 || len(in.spans) == 0 {
		return false
	}
	return in.covered(s.Ledger.Entry(int(bf.Call)).Call.Message)
}

// lateStub is what stands for such a result. It is made from facts alone, so that it is
// the same bytes whenever it is made.
func (s *Folding) lateStub(ref transcript.BlockRef) string {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	e := s.Ledger.Entry(int(bf.Call))
	how := ""
	if s.Recall != nil {
		how = ". " + s.Recall(bf.Name.String())
	}
	return fmt.Sprintf("[folded: the result of call %d (%s %s), whose call is folded above, came now: %s, %s%s]", e.Seq, e.Tool,
		text.Clip(e.Args, 60), text.Plural(int(bf.Lines), "line"), text.Plural(int(bf.Bytes), "byte"), how)
}

// of is the part that a block counts towards.
func (p *Parts) of(k transcript.Kind, role transcript.Role) *int {
	switch k {
	case transcript.KindThinking:
		return &p.Thinking
	case transcript.KindToolCall:
		return &p.Calls
	case transcript.KindToolResult:
		return &p.Results
	case transcript.KindText:
		switch role {
		case transcript.RoleAssistant:
			return &p.Assistant
		case transcript.RoleSystem, transcript.RoleDeveloper:
			return &p.System
		case transcript.RoleTool:
			return &p.Results
		}
		return &p.User
	}
	return &p.Other
}

// safe reports, for each place between messages, whether cutting there leaves every
// round whole: safe[i] is the place before message i. Rounds whose calls are folded
// already do not count: what still comes of them is late.
func (s *Folding) Safe(in Folded) []bool {
	n := s.Transcript.Len()
	inside := make([]int, n+2) // rounds opened less rounds closed, at each place
	for r := range s.Transcript.AllRounds() {
		start := in.past(r.Start) // an answer may have begun in a stretch that was folded before its calls came
		if r.End > start+1 && !in.covered(r.Calls[0].Call.Message) {
			inside[start+1]++
			inside[r.End]--
		}
	}
	ok := make([]bool, n+1)
	depth := 0
	for i := range ok {
		depth += inside[i]
		ok[i] = depth == 0
	}
	return ok
}
