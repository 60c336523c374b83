package conv

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultMemory is how many bytes of messages a session keeps in memory; see
// [Options].Memory.
const DefaultMemory = 32 << 20

// contents gives the messages of a session. Those that were said or asked for last are in
// memory, up to a number of bytes; all are in the store, and the others are read from
// there when somebody asks. Planning needs facts far more often than words.
type contents struct {
	store  store.Store
	key    store.SessionKey
	codecs map[transcript.Format]transcript.Codec
	limit  int

	Kept  []keptAt
	forms []MessageForm         // that occur
	held  map[int]*list.Element // of recent
	order *list.List            // of *heldMessage, the one used last in front
	bytes int

	// leaving is told of a message before it goes from memory; nil: nobody is.
	leaving func(i int)

	// ctx is that of the call under way. Planning passes none; where it needs
	// words, reading them ends with the call that it is done for.
	Ctx context.Context
	err error // why a message could not be read, damage apart
}

// keptMessage says where in the store a message is, and how it is read.
type KeptMessage struct {
	Seq  uint64
	Body transcript.Hash
	Form MessageForm
}

// keptAt is a keptMessage as it is remembered.
type keptAt struct {
	body transcript.Hash
	Seq  uint64
	form int32 // in the list of forms, of which a session has a few
}

type heldMessage struct {
	i, bytes int
	m        transcript.Message
}

func NewContents(store store.Store, key store.SessionKey, codecs map[transcript.Format]transcript.Codec, limit int) *contents {
	if limit == 0 {
		limit = DefaultMemory
	}
	return &contents{
		store: store, key: key, codecs: codecs, limit: limit,
		held: make(map[int]*list.Element), order: list.New(), Ctx: context.Background(),
	}
}

// add takes the next message in.
func (c *contents) add(m transcript.Message, k KeptMessage) {
	form := slices.Index(c.forms, k.Form)
	if form < 0 {
		form = len(c.forms)
		c.forms = append(c.forms, k.Form)
	}
	c.Kept = append(c.Kept, keptAt{k.Body, k.Seq, int32(form)})
	c.hold(len(c.Kept)-1, m)
}

// Where says where message i is.
func (c *contents) Where(i int) KeptMessage {
	k := c.Kept[i]
	return KeptMessage{k.Seq, k.body, c.forms[k.form]}
}

// at returns message i. What stands for a message that cannot be read says so.
func (c *contents) at(i int) transcript.Message {
	if e := c.held[i]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*heldMessage).m
	}
	m, err := c.load(i)
	if err == nil || IsDamage(err) {
		c.hold(i, m)
	} else if c.err == nil {
		c.err = err
	}
	return m
}

// hold keeps a message in memory, and lets go of others if there are too many. The newest
// is kept whatever its size: it is about to be looked at.
func (c *contents) hold(i int, m transcript.Message) {
	h := &heldMessage{i, m.Weight(), m}
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
func (c *contents) load(i int) (transcript.Message, error) {
	k := c.Where(i)
	m, err := c.Read(c.Ctx, k)
	if err != nil {
		return c.standIn(k), fmt.Errorf("read message %d: %w", i+1, err)
	}
	return m, nil
}

func (c *contents) Read(ctx context.Context, k KeptMessage) (transcript.Message, error) {
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

// body reads a body, without a copy where the store is memory itself.
func (c *contents) body(ctx context.Context, hash transcript.Hash) ([]byte, error) {
	if m, ok := c.store.(*store.Memory); ok {
		return m.Shared(ctx, c.key, hash)
	}
	return c.store.Body(ctx, c.key, hash)
}

// standIn is what stands for a message that cannot be read, of the shape that its entry
// tells.
func (c *contents) standIn(k KeptMessage) transcript.Message {
	var shapes []BlockShape
	for e, err := range c.store.Scan(c.Ctx, c.key, k.Seq) {
		if d, bad := ReadMessageData(e.Data); err == nil && bad == nil {
			shapes = d.Blocks
		}
		break
	}
	return StandIn(k.Form, shapes)
}

// fault returns why messages could not be read since it was last asked, damage apart.
func (c *contents) Fault() error {
	err := c.err
	c.err = nil
	return err
}

// isDamage reports whether reading again cannot help: what was stored is not there.
func IsDamage(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotFound)
}

// standIn makes a message that says that the one in its place cannot be read. It has the
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
	return transcript.NewMessage(form.role, blocks...).WithOrigin(form.origin)
}
