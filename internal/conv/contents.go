package conv

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultMemory is how many bytes of messages are kept in memory if no limit is given.
const DefaultMemory = 32 << 20

// Contents gives the messages of a session. All are in the store; those that were added or
// read last are in memory too, up to a number of bytes. Planning needs facts far more often
// than text.
type Contents struct {
	store  store.Store
	key    store.SessionKey
	codecs map[transcript.Format]transcript.Codec
	limit  int

	kept  []KeptMessage
	held  map[int]*list.Element // of order
	order *list.List            // of *heldMessage, the one used last in front
	bytes int                   // of these
	large *heldMessage          // the last that is too large to stand among them; nil: none
}

// KeptMessage says where in the store a message is, and how it is read.
type KeptMessage struct {
	Seq  uint64
	Body transcript.Hash
	Form MessageForm
}

type heldMessage struct {
	i, bytes int
	m        transcript.Message
}

// NewContents makes the contents of a session, of which up to limit bytes are kept in memory;
// 0: [DefaultMemory].
func NewContents(
	store store.Store, key store.SessionKey, codecs map[transcript.Format]transcript.Codec, limit int,
) *Contents {
	limit = cmp.Or(limit, DefaultMemory)
	return &Contents{
		store: store, key: key, codecs: codecs, limit: limit,
		held: make(map[int]*list.Element), order: list.New(),
	}
}

func (c *Contents) add(m transcript.Message, k KeptMessage) {
	c.kept = append(c.kept, k)
	c.hold(len(c.kept)-1, m)
}

// takeOut takes messages out. Those behind them move up.
func (c *Contents) takeOut(start, end int) {
	for i := start; i < len(c.kept); i++ {
		if c.large != nil && c.large.i == i {
			c.large = nil // it is read again if it moved
		}
		e := c.held[i]
		if e == nil {
			continue
		}
		delete(c.held, i)
		h := e.Value.(*heldMessage)
		if i < end {
			c.order.Remove(e)
			c.bytes -= h.bytes
			continue
		}
		h.i -= end - start
		c.held[h.i] = e
	}
	c.kept = slices.Delete(c.kept, start, end)
}

// shorten puts m in place of message i.
func (c *Contents) shorten(i int, m transcript.Message, k KeptMessage) {
	if c.large != nil && c.large.i == i {
		c.large = nil
	}
	if e := c.held[i]; e != nil {
		c.order.Remove(e)
		c.bytes -= e.Value.(*heldMessage).bytes
		delete(c.held, i)
	}
	c.kept[i] = k
	c.hold(i, m)
}

// Entry is the number of the entry that message i was stored in.
func (c *Contents) Entry(i int) uint64 { return c.kept[i].Seq }

// Find returns the message whose entry has a number.
func (c *Contents) Find(seq uint64) (message int, ok bool) {
	message, ok = slices.BinarySearchFunc(c.kept, seq, func(k KeptMessage, seq uint64) int { return cmp.Compare(k.Seq, seq) })
	if !ok { // one that came again has a later entry than those after it
		message = slices.IndexFunc(c.kept, func(k KeptMessage) bool { return k.Seq == seq })
	}
	return message, message >= 0 && message < len(c.kept) && c.kept[message].Seq == seq
}

// at returns message i, or a stand-in if what was stored of it is damaged.
func (c *Contents) at(ctx context.Context, i int) (transcript.Message, error) {
	if m, ok := c.Held(i); ok {
		if e := c.held[i]; e != nil {
			c.order.MoveToFront(e)
		}
		return m, nil
	}
	m, err := c.load(ctx, i)
	if err != nil {
		return m, err
	}
	c.hold(i, m)
	return m, nil
}

// Held returns message i if it is in memory.
func (c *Contents) Held(i int) (m transcript.Message, ok bool) {
	if c.large != nil && c.large.i == i {
		return c.large.m, true
	}
	if e := c.held[i]; e != nil {
		return e.Value.(*heldMessage).m, true
	}
	return m, false
}

// hold keeps a message in memory, and drops others if there are too many. One that would take
// more than a quarter of the room drives out only the last of its kind: it is kept because it is
// about to be read, and the others are read for each view.
func (c *Contents) hold(i int, m transcript.Message) {
	h := &heldMessage{i, m.Weight(), m}
	if h.bytes > c.limit/4 {
		c.large = h
		return
	}
	c.held[i] = c.order.PushFront(h)
	c.bytes += h.bytes
	c.trim(c.limit)
}

// Shrink drops messages from memory, those used least recently first, until the others take
// about that many bytes.
func (c *Contents) Shrink(bytes int) {
	c.large = nil
	c.trim(bytes)
}

func (c *Contents) trim(bytes int) {
	for c.bytes > bytes && c.order.Len() > 1 {
		back := c.order.Back()
		last := back.Value.(*heldMessage)
		c.order.Remove(back)
		delete(c.held, last.i)
		c.bytes -= last.bytes
	}
}

// weight is about how many bytes of memory the messages take.
func (c *Contents) weight() int {
	if c.large != nil {
		return c.bytes + c.large.bytes
	}
	return c.bytes
}

// load reads message i from the store, or makes a stand-in for it.
func (c *Contents) load(ctx context.Context, i int) (transcript.Message, error) {
	k := c.kept[i]
	m, err := c.Read(ctx, k)
	if err == nil {
		return m, nil
	}
	if !IsDamage(err) {
		return transcript.Message{}, fmt.Errorf("read message %d: %w", i+1, err)
	}
	var shapes []BlockShape
	gone := true // the session was deleted, or another one has its name
	for e, err := range c.store.Scan(ctx, c.key, k.Seq) {
		gone = err == nil && e.BodyHash != k.Body
		if d, bad := ReadMessageData(e.Data); err == nil && bad == nil {
			shapes = d.Blocks
		}
		break
	}
	if gone {
		return transcript.Message{}, fmt.Errorf("read message %d: %w", i+1, store.ErrNotFound)
	}
	return StandIn(k.Form, shapes), nil
}

// Read reads a message from the store.
func (c *Contents) Read(ctx context.Context, k KeptMessage) (transcript.Message, error) {
	var body []byte
	if !k.Body.IsZero() {
		var err error
		if body, err = c.body(ctx, k.Body); err != nil {
			return transcript.Message{}, err
		}
	}
	m, err := k.Form.Message(body, c.codecs)
	return m.Decoded(), err
}

// body reads a body, without a copy if the store can do that.
func (c *Contents) body(ctx context.Context, hash transcript.Hash) ([]byte, error) {
	if s, ok := c.store.(store.Sharer); ok {
		return s.Shared(ctx, c.key, hash)
	}
	return c.store.Body(ctx, c.key, hash)
}

// IsDamage reports whether an error means that what was stored is gone, so that reading it
// again cannot help.
func IsDamage(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotFound)
}

// StandIn makes a message that stands for one that cannot be read, and says so. It has the
// same blocks as far as they are known, so that calls keep their results.
func StandIn(form MessageForm, shapes []BlockShape) transcript.Message {
	const text = "[pleat: this could not be read back: its bytes in the store are damaged]"
	var blocks []transcript.Block
	for _, s := range shapes {
		switch s.Kind {
		case transcript.KindToolCall.String():
			blocks = append(blocks, transcript.Call(s.ID, s.Name, `{"damaged":"`+text+`"}`))
		case transcript.KindToolResult.String():
			blocks = append(blocks, transcript.Result(s.ID, text))
		default:
			blocks = append(blocks, transcript.Say(text))
		}
	}
	if len(blocks) == 0 {
		blocks = append(blocks, transcript.Say(text))
	}
	return transcript.NewMessage(form.Role, blocks...).WithOrigin(form.Origin)
}
