package wire

import (
	"bytes"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// Walker walks a body once and makes messages of the elements of its message array. A
// format's decoder has one and reads what an element says.
type Walker struct {
	C        jsonspan.Cursor
	Data     []byte // what is walked: the body, or a copy of one element
	Body     Body
	Messages []transcript.Message
	Name     func(string) string // what a member is called; nil: by its own name

	// Blocks and Places are those of the message that is being read. Their memory is used
	// again for every message.
	Blocks []transcript.Block
	Places []Place

	// The messages that an earlier body of the conversation had, and where.
	earlier  []transcript.Message
	elements []Element
	copies   bool // see Elements
}

// Begin begins to walk a body.
func (w *Walker) Begin(body []byte) {
	w.Body.Data, w.Data = body, body
	w.C.Reset(body)
}

// Walk walks the top level of the body. An error says in which member it is, or in which message.
func (w *Walker) Walk(member func(name string)) error {
	at := ""
	for at = range w.C.Fields {
		member(at)
	}
	switch err := w.C.End(); {
	case err == nil || at == "":
		return err
	case at == "messages" || at == "input" || at == "contents":
		return fmt.Errorf("%s[%d]: %w", at, len(w.Messages), err)
	default:
		return fmt.Errorf("%s: %w", at, err)
	}
}

// After says that the body probably begins with the messages of an earlier one.
func (w *Walker) After(messages []transcript.Message, body Body) {
	w.earlier, w.elements, w.copies = messages, body.Elements, true
}

// Clear forgets the blocks of the message that is being read.
func (w *Walker) Clear() { w.Blocks, w.Places = w.Blocks[:0], w.Places[:0] }

// Add adds a block to the message that is being read.
func (w *Walker) Add(b transcript.Block, p Place) {
	if c, ok := b.(transcript.ToolCall); ok && p.Content.IsZero() && !c.Input.IsEmpty() {
		c.Signed = true
		b = c
	}
	w.Blocks, w.Places = append(w.Blocks, b), append(w.Places, p)
}

// Message ends the message that a value is.
func (w *Walker) Message(role transcript.Role, format transcript.Format, whole Value) {
	m := transcript.WireMessage(role, format, w.Raw(whole), append([]transcript.Block(nil), w.Blocks...)...)
	w.add(m, newElement(whole.Span, append([]Place(nil), w.Places...)))
}

func (w *Walker) add(m transcript.Message, e Element) {
	w.Messages, w.Body.Elements = append(w.Messages, m), append(w.Body.Elements, e)
}

// Elements walks the message array at the cursor, and passes over anything else. It calls read for
// each element, which makes it a message. Elements that the earlier body has at the same index,
// with the same bytes, are taken from there, and same is called for them.
func (w *Walker) Elements(read func(Object), same func(i int)) {
	w.Messages, w.Body.Elements, w.Body.Array = nil, nil, jsonspan.Span{}
	start, isList := w.C.Pos(), w.C.Kind() == jsonspan.Array
	for range w.C.Items {
		i, at := len(w.Messages), w.C.Pos()
		if i < len(w.earlier) && w.C.SkipKnown(w.earlier[i].Raw()) {
			span := jsonspan.Span{Start: at, End: w.C.Pos()}
			w.add(w.earlier[i], Element{Span: span, Places: w.elements[i].Places})
			same(i)
		} else {
			w.Element(read)
		}
		if w.C.Err() != nil {
			return
		}
	}
	if isList {
		w.Body.Array = jsonspan.Span{Start: start, End: w.C.Pos()}
	}
}

// Element passes over the value at the cursor and calls read for it, which makes it a message. After
// an earlier body read gets a copy of the value, so that the messages do not keep the body in memory.
func (w *Walker) Element(read func(Object)) {
	v := w.Value()
	if w.C.Err() != nil {
		return
	}
	if !w.copies {
		read(w.Object(v))
		return
	}
	data, n := w.Data, len(w.Messages)
	w.Data = bytes.Clone(v.Of(data))
	read(w.Object(Value{jsonspan.Span{End: len(w.Data)}, v.Kind}))
	w.Data, w.Body.Elements[n].Span = data, v.Span
}
