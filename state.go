package pleat

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// blockFacts is what planning knows of a block without looking at it again. There is one
// for every block of a session, so its numbers take 32 bits: a block has less than 4 GB.
type blockFacts struct {
	hash   Hash
	name   handle // 0: it has none
	tokens uint32
	chars  uint32
	bytes  uint32
	lines  uint32
	call   uint32 // calls and results: number of the ledger's entry, 0 if there is none
	kind   Kind
	fixed  bool // never folded: see DESIGN in docs/design.md, "What is never folded"
}

// counted is a number as facts hold it.
func counted(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// messageFacts is what planning knows of a message.
type messageFacts struct {
	blocks []blockFacts
	role   Role
	extra  uint32 // tokens of the message beyond those of its blocks
	typed  bool   // holds words that a person typed
}

// conversation is what is known of what was said: the facts of each block, the handles, the
// ledger and the user's words. The words themselves are read through msgs. It changes when
// a message is added; whoever reads it may fill what is remembered to save time.
type conversation struct {
	t      Transcript
	msgs   *contents // of t
	facts  []messageFacts
	ledger Ledger
	words  UserWords
	index  handles
	count  TokenCounter
	first  int // number of messages before the first assistant message
	whole  int // tokens of the whole transcript

	// starts lists where the stretches begin that are folded again and again, so that they
	// are measured while their messages are in memory; nil: behind the system prompt and
	// behind the head.
	starts  func() []int
	meters  []*stretchMeter // of stretches that begin there
	metered bool            // all of them are there
}

// folding is a conversation and the folds in force: what a view is computed from.
type folding struct {
	*conversation
	recall func(handle string) string // how stubs say to get content back; nil: they do not
	head   Parts                      // system and tools
	policy *Policy                    // which stretches will be measured; nil: not known

	answers int // runs of assistant messages: requests that were answered
	asked   int // number of messages that the newest of them was asked with
	spent   spending

	folds  []*Fold // every fold ever made; number i+1
	inUse  folded
	epochs int // number of the newest epoch
	epoch  int // number of the epoch in force, which is an older one after an undo; 0: none
	shown  shownView
	parts  Parts // of the view, head included

	unbound   int                // thinking in messages before this one may no longer verify
	lastParts Parts              // of the newest message
	born      map[BlockRef]*Fold // spilled at birth: what is never shown whole
	history   []epochData        // epochs and undos, oldest first
	pinned    []string
	notes     []Note
	told      []narrative // digests by a model that can be used, newest last
	epochSeq  uint64      // number of the newest epoch's entry
	pages     pageWriter  // writes the pages that stand for folded turns
}

// folded is a set of folds in force.
type folded struct {
	spans  []*Fold // whole messages: ascending, disjoint
	blocks map[BlockRef]*Fold
	bare   int // messages before this one are shown without thinking
}

// TokenCounter counts tokens. Estimates never fail.
type TokenCounter interface {
	CountText(text string) int
	CountBlock(b Block) int
	CountMessage(m Message) int
}

func newConversation(count TokenCounter, msgs *contents) *conversation {
	s := &conversation{count: count, msgs: msgs, t: readThrough(msgs.at)}
	msgs.leaving = s.leaving
	return s
}

// add takes a new message in. What it costs depends on the message alone.
func (s *conversation) add(m Message, shapes []blockShape, at keptMessage) {
	i := s.t.Len()
	if s.first == i && m.Role() != RoleAssistant {
		s.first++
	}
	f := s.describe(i, m, shapes)
	s.t.Append(m)
	s.msgs.add(m, at)
	s.facts = append(s.facts, f)
	s.whole += int(f.extra)
	for b := range f.blocks {
		s.whole += int(f.blocks[b].tokens)
	}
	s.words.Add(i, m)
}

// newFolding makes the folding of a conversation, with no fold in force.
func newFolding(c *conversation, pages pageWriter) *folding {
	s := &folding{conversation: c, pages: pages, born: make(map[BlockRef]*Fold), inUse: folded{blocks: make(map[BlockRef]*Fold)}}
	c.starts = s.stretchStarts
	return s
}

// record takes a new message in and shows it.
func (s *folding) record(m Message, shapes []blockShape, at keptMessage) {
	i := s.t.Len()
	if m.Role() == RoleAssistant && (i == 0 || s.facts[i-1].role != RoleAssistant) {
		s.answered()
	}
	s.add(m, shapes, at)
	s.show(i)
}

// describe finds the facts. The shapes are the message's own, those that its entry tells if
// another message stands for it.
func (s *conversation) describe(i int, m Message, shapes []blockShape) messageFacts {
	f := messageFacts{role: m.Role(), blocks: make([]blockFacts, m.Blocks().Len())}
	_, f.typed = TypedText(m)
	sum := 0
	for b, blk := range m.Blocks().All() {
		var shape blockShape
		if b < len(shapes) {
			shape = shapes[b]
		}
		f.blocks[b] = s.describeBlock(BlockRef{i, b}, blk, shape)
		sum += int(f.blocks[b].tokens)
	}
	f.extra = counted(wrapping(s.count, m, sum))
	return f
}

// wrapping is what a message takes beyond its blocks, which take sum.
func wrapping(count TokenCounter, m Message, sum int) int {
	if t, ok := count.(*Tokenizer); ok {
		return t.over.message // no need to count the blocks again
	}
	return max(count.CountMessage(m)-sum, 0)
}

func (s *conversation) describeBlock(ref BlockRef, b Block, shape blockShape) blockFacts {
	if !shape.counted {
		shape.tokens = s.count.CountBlock(b)
	}
	f := blockFacts{kind: b.Kind(), tokens: counted(shape.tokens)}
	switch b := b.(type) {
	case ToolCall:
		s.ledger.Call(ref, b.ID, DescribeCall(b))
		f.call = counted(s.ledger.Len())
	case ToolResult:
		call := s.ledger.waiting(b.CallID)
		if call > 0 {
			f.call = counted(call)
			s.ledger.Result(ref, b.CallID, DescribeResult(s.ledger.Entry(call).CallFacts, b))
		}
		f.fixed = !foldable(b)
	case Text:
	case Thinking:
		f.fixed = true
	default:
		f.fixed = true
		return f
	}
	f.bytes, f.lines, f.hash = counted(shape.Bytes), counted(shape.Lines), shape.Hash
	f.chars = counted(utf8.RuneCountInString(blockText(b)))
	f.name = s.index.add(f.hash, Place{ref.Message, ref.Message + 1, ref.Block})
	return f
}

// foldable reports whether a result may be replaced by text. Parts that are neither text
// nor image may mean something to the provider (tool references load tools).
func foldable(r ToolResult) bool {
	for _, p := range r.Parts.All() {
		if p.Kind() == KindOpaque {
			return false
		}
	}
	return true
}

// blockText is the text of a block as unfolding shows it.
func blockText(b Block) string {
	switch b := b.(type) {
	case Text:
		return b.Text.String()
	case Thinking:
		return b.Text.String()
	case ToolCall:
		return b.Input.String()
	case ToolResult:
		return b.Text()
	}
	return ""
}

// appendShown appends what the view shows of message i, which is not part of a folded
// stretch. Nothing is left of a message whose only blocks are dropped thinking. A result
// that arrives when its call is already folded cannot stand alone: a message of pleat's
// own says that it came.
func (s *folding) appendShown(view []ViewMessage, i int, in folded) ([]ViewMessage, Parts) {
	f := &s.facts[i]
	vm := ViewMessage{Source: i}
	var parts Parts
	var late []string
	left := len(f.blocks)
	drop := func(b int) {
		vm.Edits = append(vm.Edits, BlockEdit{Block: b, Drop: true})
		left--
	}
	for b := range f.blocks {
		bf := &f.blocks[b]
		ref := BlockRef{i, b}
		switch fold := in.blocks[ref]; {
		case bf.kind == KindThinking && i < in.bare:
			drop(b)
		case s.isLate(ref, in):
			drop(b)
			late = append(late, s.lateStub(ref))
		case fold != nil:
			vm.Edits = append(vm.Edits, BlockEdit{Block: b, Text: fold.Stub})
			parts.add(fold.Parts, 1)
		default:
			*parts.of(bf.kind, f.role) += int(bf.tokens)
		}
	}
	if left > 0 || len(f.blocks) == 0 {
		*parts.of(KindText, f.role) += int(f.extra)
		view = append(view, vm)
	}
	if len(late) > 0 {
		m := User(strings.Join(late, "\n")).WithOrigin(OriginInjected)
		parts.Stubs += s.count.CountMessage(m)
		view = append(view, ViewMessage{Source: -1, Made: m})
	}
	return view, parts
}

// isLate reports whether a block is a result whose call is part of a folded stretch.
func (s *folding) isLate(ref BlockRef, in folded) bool {
	bf := &s.facts[ref.Message].blocks[ref.Block]
	if bf.kind != KindToolResult || bf.call == 0 || len(in.spans) == 0 {
		return false
	}
	return in.covered(s.ledger.Entry(int(bf.call)).Call.Message)
}

// lateStub is what stands for such a result. It is made from facts alone, so that it is
// the same bytes whenever it is made.
func (s *folding) lateStub(ref BlockRef) string {
	bf := &s.facts[ref.Message].blocks[ref.Block]
	e := s.ledger.Entry(int(bf.call))
	how := ""
	if s.recall != nil {
		how = ". " + s.recall(bf.name.String())
	}
	return fmt.Sprintf("[folded: the result of call %d (%s %s), whose call is folded above, came now: %s, %s%s]", e.Seq, e.Tool,
		clip(e.Args, 60), plural(int(bf.lines), "line"), plural(int(bf.bytes), "byte"), how)
}

// of is the part that a block counts towards.
func (p *Parts) of(k Kind, role Role) *int {
	switch k {
	case KindThinking:
		return &p.Thinking
	case KindToolCall:
		return &p.Calls
	case KindToolResult:
		return &p.Results
	case KindText:
		switch role {
		case RoleAssistant:
			return &p.Assistant
		case RoleSystem, RoleDeveloper:
			return &p.System
		case RoleTool:
			return &p.Results
		}
		return &p.User
	}
	return &p.Other
}

// safe reports, for each place between messages, whether cutting there leaves every
// round whole: safe[i] is the place before message i. Rounds whose calls are folded
// already do not count: what still comes of them is late.
func (s *folding) safe(in folded) []bool {
	n := s.t.Len()
	inside := make([]int, n+2) // rounds opened less rounds closed, at each place
	for r := range s.t.allRounds() {
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
