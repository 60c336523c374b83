package wire

import (
	"bytes"
	"slices"

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
	w.Body.Data = body
	w.reset(body)
}

// After says that the body probably begins with the messages of an earlier one.
func (w *Walker) After(messages []transcript.Message, body Body) {
	w.earlier, w.elements, w.copies = messages, body.Elements, true
}

func (w *Walker) reset(data []byte) {
	w.Data = data
	w.C.Reset(data)
}

// Since is the span of what was passed over since an offset.
func (w *Walker) Since(start int) jsonspan.Span {
	return jsonspan.Span{Start: start, End: w.C.Pos()}
}

// Str consumes a value and returns its span if it is a string. A value of another kind is no
// reason to refuse the request.
func (w *Walker) Str() jsonspan.Span {
	if w.C.Kind() == jsonspan.String {
		return w.C.Str()
	}
	w.C.Skip()
	return jsonspan.Span{}
}

// Note keeps the span of the member at the cursor, if it is a string, where its name is among names.
// It leaves other members to the cursor, which passes over them.
func (w *Walker) Note(name string, names []string, into ...*jsonspan.Span) {
	if i := slices.Index(names, name); i >= 0 {
		*into[i] = w.Str()
	}
}

// Text returns the decoded text of a string.
func (w *Walker) Text(s jsonspan.Span) string { return jsonspan.Text(w.Data, s) }

// Raw returns the bytes of a value, sharing their memory.
func (w *Walker) Raw(s jsonspan.Span) string { return jsonspan.View(w.Data, s) }

// Literal returns a string as content that shares its memory.
func (w *Walker) Literal(s jsonspan.Span) transcript.Content {
	if s.IsZero() {
		return transcript.Content{}
	}
	return transcript.Literal(w.Raw(s))
}

// Opaque consumes a value of the wrong kind, where blocks should be.
func (w *Walker) Opaque() transcript.Opaque { return transcript.Opaque{Raw: w.Raw(w.C.Skip())} }

// Clear forgets the blocks of the message that is being read.
func (w *Walker) Clear() { w.Blocks, w.Places = w.Blocks[:0], w.Places[:0] }

// Add adds a block to the message that is being read.
func (w *Walker) Add(b transcript.Block, p Place) {
	w.Blocks, w.Places = append(w.Blocks, b), append(w.Places, p)
}

// Message ends the message that lies at whole.
func (w *Walker) Message(role transcript.Role, format transcript.Format, whole jsonspan.Span) {
	m := transcript.WireMessage(role, format, w.Raw(whole), append([]transcript.Block(nil), w.Blocks...)...)
	w.add(m, newElement(whole, append([]Place(nil), w.Places...)))
}

func (w *Walker) add(m transcript.Message, e Element) {
	w.Messages, w.Body.Elements = append(w.Messages, m), append(w.Body.Elements, e)
}

// Elements walks the message array at the cursor. It calls read for each element, which
// consumes it and ends one message. Elements that the earlier body has at the same index,
// with the same bytes, are taken from there, and same is called for them. After an earlier body
// read gets a copy of the element, so that the messages do not keep the body in memory.
func (w *Walker) Elements(read func(), same func(i int)) {
	start := w.C.Pos()
	for range w.C.Items {
		i, at := len(w.Messages), w.C.Pos()
		if i < len(w.earlier) && w.C.SkipKnown(w.earlier[i].Raw()) {
			w.add(w.earlier[i], Element{Span: w.Since(at), Places: w.elements[i].Places})
			same(i)
		} else {
			w.Element(read)
		}
		if w.C.Err() != nil {
			return
		}
	}
	w.Body.Array = w.Since(start)
}

// Element calls read for the value at the cursor, which consumes it and ends one message: a copy
// of the value, after an earlier body.
func (w *Walker) Element(read func()) {
	if !w.copies {
		read()
		return
	}
	whole := w.C.Skip()
	if w.C.Err() != nil {
		return
	}
	data, after, n := w.Data, w.C, len(w.Messages)
	w.reset(bytes.Clone(whole.Of(data)))
	read()
	w.Data, w.C = data, after
	if len(w.Messages) > n {
		w.Body.Elements[n].Span = whole
	}
}
