package conv

import (
	"math"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// blockFacts is what planning knows of a block without looking at it again. There is one
// for every block of a session, so its numbers take 32 bits: a block has less than 4 GB.
type BlockFacts struct {
	Hash   transcript.Hash
	Name   handle // 0: it has none
	Tokens uint32
	Chars  uint32
	Bytes  uint32
	Lines  uint32
	Call   uint32 // calls and results: number of the ledger's entry, 0 if there is none
	Kind   transcript.Kind
	Fixed  bool // never folded: see DESIGN in docs/design.md, "What is never folded"
}

// counted is a number as facts hold it.
func counted(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// MessageFacts is what planning knows of a message.
type MessageFacts struct {
	Blocks []BlockFacts
	Role   transcript.Role
	Extra  uint32 // tokens of the message beyond those of its blocks
	Typed  bool   // holds words that a person typed
}

// conversation is what is known of what was said: the facts of each block, the handles, the
// ledger and the user's words. The words themselves are read through msgs. It changes when
// a message is added; whoever reads it may fill what is remembered to save time.
type Conversation struct {
	Transcript transcript.Transcript
	Contents   *contents // of t
	Facts      []MessageFacts
	Ledger     ledger.Ledger
	Words      userwords.Words
	Index      handles
	Count      tokens.MessageCounter
	First      int // number of messages before the first assistant message
	Whole      int // tokens of the whole transcript

	// starts lists where the stretches begin that are folded again and again, so that they
	// are measured while their messages are in memory; nil: behind the system prompt and
	// behind the head.
	Starts  func() []int
	meters  []*stretchMeter // of stretches that begin there
	metered bool            // all of them are there
}

func New(count tokens.MessageCounter, msgs *contents) *Conversation {
	s := &Conversation{Count: count, Contents: msgs, Transcript: transcript.ReadThrough(msgs.at)}
	msgs.leaving = s.leaving
	return s
}

// add takes a new message in. What it costs depends on the message alone.
func (c *Conversation) Add(m transcript.Message, shapes []BlockShape, at KeptMessage) {
	i := c.Transcript.Len()
	if c.First == i && m.Role() != transcript.RoleAssistant {
		c.First++
	}
	f := c.describe(i, m, shapes)
	c.Transcript.Append(m)
	c.Contents.add(m, at)
	c.Facts = append(c.Facts, f)
	c.Whole += int(f.Extra)
	for b := range f.Blocks {
		c.Whole += int(f.Blocks[b].Tokens)
	}
	c.Words.Add(i, m)
}

// describe finds the facts. The shapes are the message's own, those that its entry tells if
// another message stands for it.
func (c *Conversation) describe(i int, m transcript.Message, shapes []BlockShape) MessageFacts {
	f := MessageFacts{Role: m.Role(), Blocks: make([]BlockFacts, m.Blocks().Len())}
	_, f.Typed = userwords.TypedText(m)
	sum := 0
	for b, blk := range m.Blocks().All() {
		var shape BlockShape
		if b < len(shapes) {
			shape = shapes[b]
		}
		f.Blocks[b] = c.describeBlock(transcript.BlockRef{Message: i, Block: b}, blk, shape)
		sum += int(f.Blocks[b].Tokens)
	}
	f.Extra = counted(wrapping(c.Count, m, sum))
	return f
}

// wrapping is what a message takes beyond its blocks, which take sum.
func wrapping(count tokens.MessageCounter, m transcript.Message, sum int) int {
	if t, ok := count.(*tokens.Tokenizer); ok {
		return t.Over.Message // no need to count the blocks again
	}
	return max(count.CountMessage(m)-sum, 0)
}

func (c *Conversation) describeBlock(ref transcript.BlockRef, b transcript.Block, shape BlockShape) BlockFacts {
	if !shape.Counted {
		shape.Tokens = c.Count.CountBlock(b)
	}
	f := BlockFacts{Kind: b.Kind(), Tokens: counted(shape.Tokens)}
	switch b := b.(type) {
	case transcript.ToolCall:
		c.Ledger.Call(ref, b.ID, toolcall.DescribeCall(b))
		f.Call = counted(c.Ledger.Len())
	case transcript.ToolResult:
		call := c.Ledger.Waiting(b.CallID)
		if call > 0 {
			f.Call = counted(call)
			c.Ledger.Result(ref, b.CallID, toolcall.DescribeResult(c.Ledger.Entry(call).CallFacts, b))
		}
		f.Fixed = !Foldable(b)
	case transcript.Text:
	case transcript.Thinking:
		f.Fixed = true
	default:
		f.Fixed = true
		return f
	}
	f.Bytes, f.Lines, f.Hash = counted(shape.Bytes), counted(shape.Lines), shape.Hash
	f.Chars = counted(utf8.RuneCountInString(transcript.BlockText(b)))
	f.Name = c.Index.Add(f.Hash, transcript.Place{Start: ref.Message, End: ref.Message + 1, Block: ref.Block})
	return f
}

// foldable reports whether a result may be replaced by text. Parts that are neither text
// nor image may mean something to the provider (tool references load tools).
func Foldable(r transcript.ToolResult) bool {
	for _, p := range r.Parts.All() {
		if p.Kind() == transcript.KindOpaque {
			return false
		}
	}
	return true
}
