// Package conv holds what is known of a conversation without reading it again: the facts of
// each block, handles, the ledger and what people said. A session makes a [Conversation],
// adds each message to it, and lets the packages above it read; the text of old messages is
// in the store and read when it is needed.
package conv

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

func counted(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// Conversation is what is known of a conversation: the facts of each block, the handles,
// the ledger and what people said. The messages themselves are in [Contents], and in the
// store. Only Add changes what a conversation says. It is not safe for concurrent use, not
// even for reading: what is read or measured is remembered.
type Conversation struct {
	Contents *Contents
	// Index finds blocks and stretches by their handles. Whoever folds a stretch adds it.
	Index Handles

	rounds transcript.Transcript // knows the rounds, keeps no message
	facts  transcript.Facts
	ledger ledger.Ledger
	words  userwords.Words
	before annotate.State
	count  tokens.MessageCounter
	whole  int
	inputs map[int]transcript.Hash // what [inputHash] returns, by call, where that is not the hash of the bytes

	measured []measured // the newest last
}

// New makes an empty conversation whose messages are in contents.
func New(count tokens.MessageCounter, contents *Contents) *Conversation {
	return &Conversation{
		count: count, Contents: contents, rounds: transcript.Forgetful(), inputs: make(map[int]transcript.Hash),
	}
}

// Of makes a conversation of messages that are kept in memory, with no store behind them.
func Of(count tokens.MessageCounter, msgs ...transcript.Message) *Conversation {
	c := New(count, NewContents(nil, store.SessionKey{}, nil, math.MaxInt))
	for i, m := range msgs {
		c.Add(m, ShapesOf(m), KeptMessage{Seq: uint64(i + 1)})
	}
	return c
}

// perMessage is about what is known of a message, in bytes, beside what people said.
const perMessage = 700

// Weight is about how many bytes of memory the conversation takes.
func (c *Conversation) Weight() int {
	return c.Contents.weight() + c.words.Weight() + perMessage*c.Len()
}

// Len returns the number of messages.
func (c *Conversation) Len() int { return len(c.facts) }

// Facts returns what is known of the messages without their words.
func (c *Conversation) Facts() transcript.Facts { return c.facts }

// Rounds returns the rounds in order of their first messages.
func (c *Conversation) Rounds() []transcript.Round { return c.rounds.Rounds() }

// Orphans returns the results that answer no call.
func (c *Conversation) Orphans() []transcript.BlockRef { return c.rounds.Orphans() }

// Ledger returns what was done.
func (c *Conversation) Ledger() *ledger.Ledger { return &c.ledger }

// Words returns what people said.
func (c *Conversation) Words() *userwords.Words { return &c.words }

// Said lists what people said, oldest first. The list is the caller's.
func (c *Conversation) Said() []userwords.Said { return slices.Clone(c.words.Said()) }

// Tokens returns what counts tokens.
func (c *Conversation) Tokens() tokens.MessageCounter { return c.count }

// Whole returns the tokens of all messages as they came.
func (c *Conversation) Whole() int { return c.whole }

// Handle returns the handle that some content at a place has or would get.
func (c *Conversation) Handle(content transcript.Hash, p transcript.Place) transcript.Handle {
	return c.Index.Name(content, p)
}

// Message reads message i. One whose bytes in the store are damaged is replaced by one that
// says so; that the store cannot be read is an error.
func (c *Conversation) Message(ctx context.Context, i int) (transcript.Message, error) {
	return c.Contents.at(ctx, i)
}

// Block reads a block, as Message reads its message.
func (c *Conversation) Block(ctx context.Context, ref transcript.BlockRef) (transcript.Block, error) {
	m, err := c.Contents.at(ctx, ref.Message)
	if err != nil {
		return nil, err
	}
	return m.Blocks().At(ref.Block), nil
}

// Reading calls f with the conversation as a transcript whose messages are read as f asks for
// them. If one cannot be read, its error is what Reading returns, whatever f made of it.
func (c *Conversation) Reading(ctx context.Context, f func(*transcript.Transcript) error) error {
	var fault error
	err := f(c.rounds.ReadThrough(func(i int) transcript.Message {
		m, err := c.Contents.at(ctx, i)
		if err != nil {
			fault = cmp.Or(fault, err)
			m = c.facts.Blank(i)
		}
		return m
	}))
	return cmp.Or(fault, err)
}

// Add adds a message. The shapes are those of its blocks, at says where it is stored. The
// time it takes depends on the message alone.
func (c *Conversation) Add(m transcript.Message, shapes []BlockShape, at KeptMessage) {
	i := c.Len()
	notes := annotate.Message(m, &c.before)
	for b, s := range shapes {
		if s.Kind == transcript.KindText.String() {
			notes = notes.Lowered(b, s.Said)
		}
	}
	f := c.describe(i, m, shapes, notes)
	tied, thinking := c.rounds.Append(m)
	c.Contents.add(m, at)
	c.facts = append(c.facts, f)
	c.tie(tied, i, thinking)
	c.whole += c.facts.Tokens(i, i+1)
	said := len(c.words.Said())
	c.words.Hear(i, m, notes)
	for _, s := range c.words.Said()[said:] {
		if s.Via != "" { // a person's words are not folded as a tool's
			f.Blocks[s.Block].Fixed = true
		}
	}
}

// tie notes that messages from one to another stay together, because of their thinking or something else.
func (c *Conversation) tie(from, to int, thinking bool) {
	for i := from; i < to; i++ {
		c.facts[i+1].Tied = true
		for b := range c.facts[i].Blocks {
			f := &c.facts[i].Blocks[b]
			f.Stays = f.Stays || thinking && f.Kind == transcript.KindThinking
		}
	}
}

// TakeOut takes messages start ≤ i < end out, near the end of the conversation, which have no calls and no
// results. Those behind them move up, and keep their handles.
func (c *Conversation) TakeOut(start, end int) {
	c.whole -= c.facts.Tokens(start, end)
	for i := start; i < len(c.facts); i++ {
		to := i - (end - start)
		if i < end {
			to = -1
		}
		c.Index.takeOut(i, to, c.facts[i])
	}
	c.facts = slices.Delete(c.facts, start, end)
	c.Contents.takeOut(start, end)
	c.rounds.TakeOut(start, end, nil)
	for i := range c.ledger.Entries {
		for _, at := range []*int{&c.ledger.Entries[i].Call.Message, &c.ledger.Entries[i].Result.Message} {
			if *at >= end {
				*at -= end - start
			}
		}
	}
	c.words.TakeOut(start, end)
	c.measured = slices.DeleteFunc(c.measured, func(m measured) bool { return m.end > start })
}

// Shorten puts m in place of message i, which has more text at its end, see [Cut].
func (c *Conversation) Shorten(i int, m transcript.Message, shapes []BlockShape, at KeptMessage) {
	was, notes := c.facts[i], annotate.Message(m, nil)
	c.Index.takeOut(i, -1, was)
	c.whole -= c.facts.Tokens(i, i+1)
	f := c.describe(i, m, shapes, notes)
	for b := range f.Blocks { // whose results they are, and who said it, is known
		f.Blocks[b].Call, f.Blocks[b].Fixed = was.Blocks[b].Call, was.Blocks[b].Fixed
	}
	c.facts[i] = f
	c.whole += c.facts.Tokens(i, i+1)
	c.rounds.TakeOut(i+1, i+1, &m)
	c.Contents.shorten(i, m, at)
	c.words.Hear(i, m, notes)
	c.measured = slices.DeleteFunc(c.measured, func(m measured) bool { return m.end > i })
}

// describe finds the facts of a message. If the message is a stand-in for one that cannot
// be read, the shapes are those of the original.
func (c *Conversation) describe(
	i int, m transcript.Message, shapes []BlockShape, notes annotate.Notes,
) transcript.MessageFacts {
	f := transcript.MessageFacts{
		Role: m.Role(), Origin: m.Origin(), Blocks: make([]transcript.BlockFacts, m.Blocks().Len()),
	}
	f.Stands = m.Blocks().Len() == 0 && m.Role() == transcript.RoleSystem // the model's effort from there on
	sum := 0
	for b, blk := range m.Blocks().All() {
		var shape BlockShape
		if b < len(shapes) {
			shape = shapes[b]
		}
		o, _ := blk.(transcript.Opaque)
		f.Stands = f.Stands || o.Stands
		f.Blocks[b] = c.describeBlock(transcript.BlockRef{Message: i, Block: b}, blk, shape)
		if typed, _ := notes.Words(m, b); typed != "" && blk.Kind() == transcript.KindText {
			f.Blocks[b].Typed = true
			f.Blocks[b].Mixed = typed != strings.TrimSpace(transcript.BlockText(blk))
		}
		f.Typed = f.Typed || f.Blocks[b].Typed
		sum += int(f.Blocks[b].Tokens)
	}
	f.Extra = counted(wrapping(c.count, m, sum))
	return f
}

// wrapping returns the tokens of a message beyond those of its blocks, which are sum.
func wrapping(count tokens.MessageCounter, m transcript.Message, sum int) int {
	if t, ok := count.(*tokens.Tokenizer); ok {
		return t.MessageOverhead() // no need to count the blocks again
	}
	return max(count.CountMessage(m)-sum, 0)
}

func (c *Conversation) describeBlock(
	ref transcript.BlockRef, b transcript.Block, shape BlockShape,
) transcript.BlockFacts {
	if !shape.Counted {
		shape.Tokens = c.count.CountBlock(b)
	}
	f := transcript.BlockFacts{Kind: b.Kind(), Tokens: counted(shape.Tokens)}
	switch b := b.(type) {
	case transcript.ToolCall:
		c.ledger.Call(ref, b.ID, toolcall.DescribeCall(b))
		f.Call = counted(c.ledger.Len())
		if h := inputHash(b.Input.String()); h != shape.Hash {
			c.inputs[int(f.Call)] = h
		}
		f.Text = !strings.HasPrefix(strings.TrimSpace(b.Input.String()), "{")
		f.Fixed = b.Signed
	case transcript.ToolResult:
		if call := c.ledger.Waiting(b.CallID); call > 0 && ref.Message == len(c.facts) { // else it is known
			f.Call = counted(call)
			c.ledger.Result(ref, b.CallID, toolcall.DescribeResult(c.ledger.Entry(call).CallFacts, b))
		}
		// Parts that are neither text nor image may mean something to the provider: tool references load tools.
		f.Fixed, f.Empty = b.Parts.Has(transcript.KindOpaque), b.Parts.Len() == 0
	case transcript.Text:
	case transcript.Thinking:
		f.Fixed, f.Stays = true, b.Stays
	default:
		f.Fixed = true
		return f
	}
	f.Bytes, f.Lines, f.Hash = counted(shape.Bytes), counted(shape.Lines), shape.Hash
	txt := transcript.BlockText(b)
	f.Chars = counted(utf8.RuneCountInString(txt))
	if f.Kind == transcript.KindText {
		c.ledger.Notice(txt)
	}
	f.Handle = c.Index.Add(f.Hash, transcript.Place{Start: ref.Message, End: ref.Message + 1, Block: ref.Block})
	return f
}

// callState returns a call by its number in the ledger; zero: there is none.
func (c *Conversation) callState(n int) transcript.CallState {
	if n == 0 {
		return transcript.CallState{}
	}
	at, rounds := c.ledger.Entries[n-1].Call, c.Rounds()
	k := sort.Search(len(rounds), func(k int) bool { return rounds[k].Start > at.Message }) - 1
	for _, s := range rounds[k].Calls {
		if s.Call == at {
			return s
		}
	}
	return transcript.CallState{}
}
