package pleat

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
)

// DefaultMemory is how many bytes of messages a session keeps in memory; see
// [Options].Memory.
const DefaultMemory = 32 << 20

// contents gives the messages of a session. Those that were said or asked for last are in
// memory, up to a number of bytes; all are in the store, and the others are read from
// there when somebody asks. Planning needs facts far more often than words.
type contents struct {
	store  Store
	key    SessionKey
	codecs map[Format]Codec
	limit  int

	kept  []keptAt
	forms []messageForm         // that occur
	held  map[int]*list.Element // of recent
	order *list.List            // of *heldMessage, the one used last in front
	bytes int

	// leaving is told of a message before it goes from memory; nil: nobody is.
	leaving func(i int)

	// ctx is that of the call under way. Planning passes none; where it needs
	// words, reading them ends with the call that it is done for.
	ctx context.Context
	err error // why a message could not be read, damage apart
}

// keptMessage says where in the store a message is, and how it is read.
type keptMessage struct {
	seq  uint64
	body Hash
	form messageForm
}

// keptAt is a keptMessage as it is remembered.
type keptAt struct {
	body Hash
	seq  uint64
	form int32 // in the list of forms, of which a session has a few
}

type heldMessage struct {
	i, bytes int
	m        Message
}

func newContents(store Store, key SessionKey, codecs map[Format]Codec, limit int) *contents {
	if limit == 0 {
		limit = DefaultMemory
	}
	return &contents{
		store: store, key: key, codecs: codecs, limit: limit,
		held: make(map[int]*list.Element), order: list.New(), ctx: context.Background(),
	}
}

// add takes the next message in.
func (c *contents) add(m Message, k keptMessage) {
	form := slices.Index(c.forms, k.form)
	if form < 0 {
		form = len(c.forms)
		c.forms = append(c.forms, k.form)
	}
	c.kept = append(c.kept, keptAt{k.body, k.seq, int32(form)})
	c.hold(len(c.kept)-1, m)
}

// where says where message i is.
func (c *contents) where(i int) keptMessage {
	k := c.kept[i]
	return keptMessage{k.seq, k.body, c.forms[k.form]}
}

// at returns message i. What stands for a message that cannot be read says so.
func (c *contents) at(i int) Message {
	if e := c.held[i]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*heldMessage).m
	}
	m, err := c.load(i)
	if err == nil || isDamage(err) {
		c.hold(i, m)
	} else if c.err == nil {
		c.err = err
	}
	return m
}

// hold keeps a message in memory, and lets go of others if there are too many. The newest
// is kept whatever its size: it is about to be looked at.
func (c *contents) hold(i int, m Message) {
	h := &heldMessage{i, m.weight(), m}
	c.held[i] = c.order.PushFront(h)
	c.bytes += h.bytes
	for c.bytes > c.limit && c.order.Len() > 1 {
		back := c.order.Back()
		last := back.Value.(*heldMessage)
		if c.leaving != nil {
			c.leaving(last.i)
		}
		c.order.Remove(back)
		delete(c.held, last.i)
		c.bytes -= last.bytes
	}
}

// load reads message i from the store. Along with an error comes what stands for it.
func (c *contents) load(i int) (Message, error) {
	k := c.where(i)
	m, err := c.read(c.ctx, k)
	if err != nil {
		return c.standIn(k), fmt.Errorf("read message %d: %w", i+1, err)
	}
	return m, nil
}

func (c *contents) read(ctx context.Context, k keptMessage) (Message, error) {
	var body []byte
	if !k.body.IsZero() {
		var err error
		if body, err = c.body(ctx, k.body); err != nil {
			return Message{}, err
		}
	}
	m, err := k.form.message(body, c.codecs)
	return m.decoded(), err
}

// body reads a body, without a copy where the store is memory itself.
func (c *contents) body(ctx context.Context, hash Hash) ([]byte, error) {
	if m, ok := c.store.(*MemStore); ok {
		return m.shared(ctx, c.key, hash)
	}
	return c.store.Body(ctx, c.key, hash)
}

// standIn is what stands for a message that cannot be read, of the shape that its entry
// tells.
func (c *contents) standIn(k keptMessage) Message {
	var shapes []blockShape
	for e, err := range c.store.Scan(c.ctx, c.key, k.seq) {
		if d, bad := readMessageData(e.Data); err == nil && bad == nil {
			shapes = d.Blocks
		}
		break
	}
	return standIn(k.form, shapes)
}

// fault returns why messages could not be read since it was last asked, damage apart.
func (c *contents) fault() error {
	err := c.err
	c.err = nil
	return err
}

// isDamage reports whether reading again cannot help: what was stored is not there.
func isDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) }

// standIn makes a message that says that the one in its place cannot be read. It has the
// same blocks as far as they are known, so that calls keep their results.
func standIn(form messageForm, shapes []blockShape) Message {
	const text = "[pleat: this could not be read back: its bytes in the store are damaged]"
	var blocks []Block
	for _, s := range shapes {
		switch s.Kind {
		case KindToolCall.String():
			blocks = append(blocks, Call(s.ID, s.Name, `{"damaged":"`+text+`"}`))
		case KindToolResult.String():
			blocks = append(blocks, Result(s.ID, text))
		default:
			blocks = append(blocks, Say(text))
		}
	}
	if len(blocks) == 0 {
		blocks = append(blocks, Say(text))
	}
	return NewMessage(form.role, blocks...).WithOrigin(form.origin)
}

// decoded returns the message with its literals decoded.
func (m Message) decoded() Message {
	if m.raw == "" {
		return m
	}
	m.blocks = m.blocks.read()
	return m
}

func (b Blocks) read() Blocks {
	out := make([]Block, len(b.list))
	for i, blk := range b.list {
		switch t := blk.(type) {
		case Text:
			t.Text = t.Text.read()
			blk = t
		case Thinking:
			t.Text = t.Text.read()
			blk = t
		case ToolCall:
			t.Input = t.Input.read()
			blk = t
		case ToolResult:
			t.Parts = t.Parts.read()
			blk = t
		}
		out[i] = blk
	}
	return Blocks{out}
}

// weight is about how many bytes of memory a message takes.
func (m Message) weight() int {
	n := 200 + len(m.raw)
	shared := m.raw != "" // then blocks are parts of raw
	return n + m.blocks.weight(shared)
}

func (b Blocks) weight(shared bool) int {
	n := 0
	for _, blk := range b.list {
		n += 200
		var c Content
		raw := ""
		switch t := blk.(type) {
		case Text:
			c, raw = t.Text, t.Raw
		case Thinking:
			c, raw = t.Text, t.Raw+t.Signature
		case ToolCall:
			c, raw = t.Input, t.Raw
		case ToolResult:
			n += t.Parts.weight(shared)
			raw = t.Raw
		case Image:
			c, raw = t.Data, t.Raw
		case Opaque:
			raw = t.Raw
		}
		n += len(c.text)
		if !shared {
			n += len(c.s) + len(raw)
		}
	}
	return n
}
