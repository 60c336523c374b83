// Package conv holds what is known of a conversation without reading it again: the facts of
// each block, handles, the ledger and what people said. A session makes a [Conversation],
// adds each message to it, and lets the packages above it read; the text of old messages is
// in the store and read when it is needed.
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

// BlockFacts is what is known of a block without reading it again. There is one for every
// block of a session, so its numbers take 32 bits: a block has less than 4 GB.
type BlockFacts struct {
	Hash   transcript.Hash
	Name   Handle // 0: it has none
	Tokens uint32
	Chars  uint32
	Bytes  uint32
	Lines  uint32
	Call   uint32 // calls and results: number of the ledger's entry, 0 if there is none
	Kind   transcript.Kind
	Fixed  bool // never folded: see docs/design.md, "What is never folded"
}

func counted(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// MessageFacts is what is known of a message without reading it again.
type MessageFacts struct {
	Blocks []BlockFacts
	Role   transcript.Role
	Extra  uint32 // tokens of the message beyond those of its blocks
	Typed  bool   // has text that a person typed
}

// Conversation is what is known of a conversation: the facts of each block, the handles,
// the ledger and what people said. The messages themselves are read through Transcript.
// Only Add changes what a conversation says. It is not safe for concurrent use, not even
// for reading: what is read or measured is remembered.
type Conversation struct {
	// Read-only for other packages.
	Transcript transcript.Transcript
	Contents   *Contents // holds or reads the messages of Transcript
	Facts      []MessageFacts
	Ledger     ledger.Ledger
	Words      userwords.Words // what people said
	Count      tokens.MessageCounter
	First      int // number of messages before the first assistant message
	Whole      int // tokens of the whole transcript

	// Index finds blocks and stretches by their handles. Whoever folds a stretch adds it.
	Index Handles
	// Starts lists the first messages of the stretches that are folded again and again, so
	// that they are measured while their messages are in memory; nil: the first behind the
	// system prompt, and First.
	Starts func() []int

	meters  []*stretchMeter // of stretches that begin where Starts says
	metered bool            // there is one for each of these places
}

// New makes an empty conversation whose messages are in contents.
func New(count tokens.MessageCounter, contents *Contents) *Conversation {
	c := &Conversation{Count: count, Contents: contents, Transcript: transcript.ReadThrough(contents.at)}
	contents.leaving = c.leaving
	return c
}

// Add adds a message. The shapes are those of its blocks, at says where it is stored. The
// time it takes depends on the message alone.
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
	said := len(c.Words.Said())
	c.Words.Add(i, m)
	for _, s := range c.Words.Said()[said:] {
		if s.Via != "" { // a person's words are not folded as a tool's
			f.Blocks[s.Block].Fixed = true
		}
	}
}

// describe finds the facts of a message. If the message is a stand-in for one that cannot
// be read, the shapes are those of the original.
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

// wrapping returns the tokens of a message beyond those of its blocks, which are sum.
func wrapping(count tokens.MessageCounter, m transcript.Message, sum int) int {
	if t, ok := count.(*tokens.Tokenizer); ok {
		return t.MessageOverhead() // no need to count the blocks again
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
	txt := transcript.BlockText(b)
	f.Chars = counted(utf8.RuneCountInString(txt))
	if f.Kind == transcript.KindText {
		c.Ledger.Notice(txt)
	}
	f.Name = c.Index.Add(f.Hash, transcript.Place{Start: ref.Message, End: ref.Message + 1, Block: ref.Block})
	return f
}

// FactsOf returns the facts of a block.
func (c *Conversation) FactsOf(ref transcript.BlockRef) *BlockFacts {
	return &c.Facts[ref.Message].Blocks[ref.Block]
}

// Foldable reports whether a result may be replaced by text. Parts that are neither text
// nor image may mean something to the provider (tool references load tools).
func Foldable(r transcript.ToolResult) bool {
	for _, p := range r.Parts.All() {
		if p.Kind() == transcript.KindOpaque {
			return false
		}
	}
	return true
}

// ToolOf returns the name of the tool that a call without a result calls, empty if there is
// no such call.
func (c *Conversation) ToolOf(callID string) string {
	if n := c.Ledger.Waiting(callID); n > 0 {
		return c.Ledger.Entry(n).Tool
	}
	return ""
}

// Prompt is the number of messages of the system prompt, which come first.
func (c *Conversation) Prompt() int {
	for i := range c.Facts {
		if r := c.Facts[i].Role; r != transcript.RoleSystem && r != transcript.RoleDeveloper {
			return i
		}
	}
	return len(c.Facts)
}

// MessageHandle returns the handle of the longest block of a message that has one, "" if
// none has. What a person typed is mostly a single block.
func (c *Conversation) MessageHandle(i int) string {
	best := -1
	for b, bf := range c.Facts[i].Blocks {
		if bf.Name != 0 && (best < 0 || int(bf.Bytes) > int(c.Facts[i].Blocks[best].Bytes)) {
			best = b
		}
	}
	if best < 0 {
		return ""
	}
	return c.Facts[i].Blocks[best].Name.String()
}

// TurnOf returns the number of the model's answer that a message belongs to or follows;
// 0: before the first.
func (c *Conversation) TurnOf(message int) int {
	n := 0
	for i := 0; i <= message; i++ {
		if c.Facts[i].Role == transcript.RoleAssistant && (i == 0 || c.Facts[i-1].Role != transcript.RoleAssistant) {
			n++
		}
	}
	return n
}

// SelectCalls returns the calls that the filter chooses, with their handles.
func (c *Conversation) SelectCalls(f ledger.Filter) []ledger.Entry {
	out := c.Ledger.Select(f)
	for i := range out {
		out[i].Handle = c.CallHandle(&out[i])
	}
	return out
}

// CallHandle is the handle that tells most about a call: of what it changed in files, or
// else of its result.
func (c *Conversation) CallHandle(e *ledger.Entry) string {
	if ledger.IsFileCall(e) && e.Outcome == toolcall.Succeeded {
		if h := c.FactsOf(e.Call).Name.String(); h != "" {
			return h
		}
	}
	if e.Outcome == toolcall.Unanswered {
		return ""
	}
	return c.FactsOf(e.Result).Name.String()
}
