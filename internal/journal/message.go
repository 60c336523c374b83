package journal

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// message is a message on its way into the store.
type message struct {
	m      transcript.Message // as it will be read back
	form   conv.MessageForm
	shapes []conv.BlockShape
	body   transcript.Hash
	entry  store.Entry
}

// prepare makes the entry for a message, and the message as it will be read back from it.
// A message that came off a wire shares memory with a whole request, which it must not
// keep alive; and what cannot be read back must not be stored, because no later opening
// would get past it. Then the neutral form is stored, which always can.
func (j *Journal) prepare(m transcript.Message) (message, error) {
	if err := Check(m); err != nil {
		return message{}, err
	}
	n := message{m: m}
	form := conv.MessageForm{Form: conv.FormWire, Format: m.Format(), Role: m.Role(), Origin: m.Origin()}
	codec := j.o.Codecs[m.Format()]
	var body []byte
	wire := false
	if codec != nil && m.Raw() != "" {
		own, err := form.Message(transcript.StringBytes(m.Raw()), j.o.Codecs)
		if wire = err == nil && conv.SameBlocks(own.Blocks(), m.Blocks()); wire {
			n.m = own
			if body = transcript.StringBytes(own.Raw()); own.Raw() != m.Raw() {
				body = []byte(m.Raw())
			}
		}
	}
	if !wire {
		form.Form = conv.FormPleat
		var err error
		if body, err = m.MarshalJSON(); err != nil { // json.Marshal would read and copy it once more
			return message{}, fmt.Errorf("encode message: %w", err)
		}
		if m.Format() != transcript.FormatNone {
			if n.m, err = form.Message(body, nil); err != nil {
				return message{}, err
			}
		}
	}
	n.m, n.form = n.m.Decoded(), form
	n.shapes = conv.ShapesOf(n.m)
	data, err := json.Marshal(conv.MessageData{MessageForm: form, Blocks: n.shapes})
	if err != nil {
		return message{}, fmt.Errorf("encode message: %w", err)
	}
	n.body = transcript.HashOf(body)
	n.entry = store.Entry{Kind: store.EntryMessage, Data: data, Body: body, Text: conv.SearchText(n.m)}
	return n, nil
}

// How many messages are prepared at a time, in bytes and number: enough to be worth
// starting others, and little enough to hold.
const (
	preparedLeast = 32 << 10
	preparedMost  = 1 << 20
	preparedCount = 64
)

type prepared struct {
	message
	err error
}

// prepareSome prepares the first of msgs, on all processors if they are many: reading a
// message back and counting it depend on nothing but the message. It returns at least one.
func (j *Journal) prepareSome(msgs []transcript.Message) []prepared {
	n, size := 0, 0
	for n < len(msgs) && n < preparedCount && size < preparedMost {
		size += len(msgs[n].Raw()) // 0 for messages that came off no wire: those are bounded by number
		n++
	}
	out := make([]prepared, n)
	one := func(i int) {
		out[i].err = fault.Caught(func() (err error) { // nobody could recover where a codec panics
			out[i].message, err = j.prepare(msgs[i])
			return err
		})
		if t, ok := j.o.State.Tokens().(*tokens.Tokenizer); ok && out[i].err == nil { // others may not be safe for it
			out[i].count(t)
		}
	}
	var work sync.WaitGroup
	for i := range out {
		if size < preparedLeast {
			one(i)
		} else {
			work.Go(func() { one(i) })
		}
	}
	work.Wait()
	return out
}

// count notes how many tokens the blocks have.
func (n *message) count(t *tokens.Tokenizer) {
	for i, b := range n.m.Blocks().All() {
		n.shapes[i].Tokens, n.shapes[i].Counted = t.CountBlock(b), true
	}
}
