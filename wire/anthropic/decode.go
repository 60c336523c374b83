package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

var errNoMessages = errors.New("no messages array")

// Decode reads a request body. The body must not be changed afterwards: the result
// shares its memory.
//
// Decode refuses only what is not JSON, has no messages array, or is nested deeper or longer
// than any request could be. Everything else is kept for the provider to judge: blocks of
// unknown or wrong shape become [transcript.Opaque], and of duplicate members the last one
// counts. [Request.Check] says what the provider would refuse.
func Decode(body []byte) (*Request, error) { return DecodeAfter(nil, body) }

// DecodeAfter is [Decode] for a body that probably begins with the messages of an earlier one:
// those that have the same bytes in the same place of the array are not decoded again. The
// earlier request may be nil; else the messages of the result share memory with it, and
// no longer with the body.
func DecodeAfter(earlier *Request, body []byte) (*Request, error) {
	d := decoder{data: body, req: &Request{body: wire.Body{Data: body}}, section: sectionTop, earlier: earlier}
	d.c.Reset(body, jsonspan.Limits{})
	found := d.request()
	if err := d.c.End(); err != nil {
		return nil, fmt.Errorf("decode request: %s%w", d.place(), err)
	}
	if !found {
		return nil, fmt.Errorf("decode request: %w", errNoMessages)
	}
	return d.req, nil
}

// decoder walks a body once. Its scratch lists are used again for every message.
type decoder struct {
	data []byte
	c    jsonspan.Cursor
	req  *Request

	// Where the walk is, for errors and for the paths of cache markers.
	section              section
	message, block, part int

	blocks []transcript.Block
	places []wire.Place
	parts  []transcript.Block

	blockSlab wire.Slab[transcript.Block]
	placeSlab wire.Slab[wire.Place]

	earlier *Request // see DecodeAfter
	marks   int      // markers of its messages before the current one
}

func (d *decoder) place() string {
	switch {
	case d.section == sectionMessages && d.block >= 0:
		return fmt.Sprintf("messages.%d.content.%d: ", d.message, d.block)
	case d.section == sectionMessages:
		return fmt.Sprintf("messages.%d: ", d.message)
	case d.section != sectionTop:
		return fmt.Sprintf("%s.%d: ", d.section, d.block)
	}
	return ""
}

// request walks the top level and reports whether it found a messages array.
func (d *decoder) request() bool {
	found := false
	for name := range d.c.Fields {
		switch name {
		case "messages":
			d.req.Messages, d.req.body.Elements = nil, nil
			if found = d.c.Kind() == jsonspan.Array; found {
				d.messages()
			}
		case "system":
			d.system()
		case "tools":
			d.tools()
		default:
			d.member(name)
		}
		if d.c.Err() != nil {
			return found
		}
		d.section = sectionTop
	}
	return found
}

// member consumes a member of the top level that is not a list of things.
func (d *decoder) member(name string) {
	top, kind := &d.req.top, d.c.Kind()
	if name == "cache_control" {
		d.req.marks[sectionTop] = nil
		d.marker()
		return
	}
	value := d.c.Skip()
	if kind == jsonspan.Null {
		value = jsonspan.Span{} // null is how some clients leave a member out
	}
	switch name {
	case "model":
		d.req.Model = ""
		if kind == jsonspan.String {
			d.req.Model = jsonspan.Text(d.data, value)
		}
	case "stream":
		d.req.Stream = kind == jsonspan.True
	case "max_tokens":
		d.req.MaxTokens = 0
		if kind == jsonspan.Number {
			d.req.MaxTokens = jsonspan.Value(value.Of(d.data)).Int()
		}
	case "thinking":
		top.thinking = value
	case "compaction":
		top.compaction = value
	}
}

func (d *decoder) system() {
	d.section, d.block, d.part = sectionSystem, 0, -1
	d.req.System, d.req.marks[sectionSystem] = nil, nil
	start := d.c.Pos()
	switch d.c.Kind() {
	case jsonspan.String:
		d.req.System = []transcript.Block{transcript.Text{Text: transcript.Literal(jsonspan.View(d.data, d.c.Str()))}}
	case jsonspan.Array:
		for range d.c.Items {
			b, _ := d.contentBlock()
			d.req.System = append(d.req.System, b)
			d.next(&d.block)
		}
	case jsonspan.Null:
		d.req.top.system = jsonspan.Span{}
		return
	default:
		d.c.Skip()
	}
	d.req.top.system = jsonspan.Span{Start: start, End: d.c.Pos()}
}

func (d *decoder) tools() {
	d.section, d.block, d.part = sectionTools, 0, -1
	d.req.Tools, d.req.marks[sectionTools] = nil, nil
	d.req.top.tools = jsonspan.Span{}
	if d.c.Kind() != jsonspan.Array {
		return
	}
	start := d.c.Pos()
	for range d.c.Items {
		d.req.Tools = append(d.req.Tools, d.tool())
		d.next(&d.block)
	}
	d.req.top.tools = jsonspan.Span{Start: start, End: d.c.Pos()}
}

func (d *decoder) tool() model.Tool {
	start := d.c.Pos()
	var t model.Tool
	for name := range d.c.Fields {
		switch name {
		case "name":
			t.Name = jsonspan.Text(d.data, d.str())
		case "description":
			t.Description = jsonspan.Text(d.data, d.str())
		case "input_schema":
			t.Schema = jsonspan.View(d.data, d.c.Skip())
		case "cache_control":
			d.marker()
		}
	}
	t.Raw = jsonspan.View(d.data, jsonspan.Span{Start: start, End: d.c.Pos()})
	return t
}

func (d *decoder) messages() {
	d.section, d.message = sectionMessages, 0
	d.req.marks[sectionMessages], d.req.shapes, d.req.references = nil, nil, nil
	start := d.c.Pos()
	// One guess at their number saves most of the growing: a message of an agent's
	// conversation has a few kilobytes.
	n := min(len(d.data)/4096+8, 2048)
	if d.earlier != nil {
		n = len(d.earlier.Messages) + 8
	}
	d.req.Messages = make([]transcript.Message, 0, n)
	d.req.body.Elements, d.req.shapes = make([]wire.Element, 0, n), make([]shape, 0, n)
	d.block = -1
	d.marks = 0
	for range d.c.Items {
		if d.again() {
			d.message++
			continue
		}
		if m, ok := d.ownMessage(); ok {
			d.req.Messages = append(d.req.Messages, m)
		}
		d.next(&d.message)
	}
	d.req.body.Array = jsonspan.Span{Start: start, End: d.c.Pos()}
}

// again takes the message at the cursor from the earlier request, if it is the same there.
func (d *decoder) again() bool {
	i, e, start := d.message, d.earlier, d.c.Pos()
	if e == nil || i >= len(e.Messages) {
		return false
	}
	same := d.c.SkipKnown(e.Messages[i].Raw())
	for list := e.marks[sectionMessages]; d.marks < len(list) && list[d.marks].message <= i; d.marks++ {
		if same {
			d.req.marks[sectionMessages] = append(d.req.marks[sectionMessages], list[d.marks])
		}
	}
	if !same {
		return false
	}
	r := d.req
	r.Messages, r.shapes = append(r.Messages, e.Messages[i]), append(r.shapes, e.shapes[i])
	r.body.Elements = append(r.body.Elements, wire.Element{Span: jsonspan.Span{Start: start, End: d.c.Pos()}, Places: e.body.Elements[i].Places})
	for b := 0; len(e.references) > 0 && b < e.Messages[i].Blocks().Len(); b++ {
		if e.references[transcript.BlockRef{Message: i, Block: b}] {
			d.block = b
			d.refer()
		}
	}
	d.block = -1
	return true
}

// ownMessage is walkMessage. After an earlier request it walks a copy of the message, which
// does not keep the body in memory.
func (d *decoder) ownMessage() (transcript.Message, bool) {
	if d.earlier == nil {
		return d.walkMessage()
	}
	span := d.c.Skip()
	if d.c.Err() != nil {
		return transcript.Message{}, false
	}
	data, after := d.data, d.c
	d.data = bytes.Clone(span.Of(data))
	d.c.Reset(d.data, jsonspan.Limits{})
	m, ok := d.walkMessage()
	d.data, d.c = data, after
	d.req.body.Elements[d.message].Span = span
	return m, ok
}

// walkMessage consumes one element of the array. It reports false when the walk failed.
func (d *decoder) walkMessage() (transcript.Message, bool) {
	start := d.c.Pos()
	m := messageFields{marks: len(d.req.marks[sectionMessages])}
	d.blocks, d.places = d.blocks[:0], d.places[:0]
	if d.c.Kind() == jsonspan.Object {
		for name := range d.c.Fields {
			d.messageMember(&m, name)
		}
	} else {
		whole := d.c.Skip()
		d.blocks, d.places = append(d.blocks, transcript.Opaque{Raw: jsonspan.View(d.data, whole)}), append(d.places, wire.Place{})
	}
	if d.c.Err() != nil {
		return transcript.Message{}, false
	}
	span := jsonspan.Span{Start: start, End: d.c.Pos()}
	d.req.shapes = append(d.req.shapes, m.shape)
	d.req.body.Elements = append(d.req.body.Elements, wire.NewElement(span, d.placeSlab.Clone(d.places)))
	return transcript.WireMessage(roleOf(m.role), transcript.FormatAnthropic, jsonspan.View(d.data, span), d.blockSlab.Clone(d.blocks)...), true
}

// messageFields is what a message says apart from its blocks.
type messageFields struct {
	role  string
	shape shape
	marks int // markers found before the message
}

func (d *decoder) messageMember(m *messageFields, name string) {
	switch name {
	case "role":
		m.role = jsonspan.Text(d.data, d.str())
	case "content":
		d.blocks, d.places = d.blocks[:0], d.places[:0]
		d.req.marks[sectionMessages] = d.req.marks[sectionMessages][:m.marks]
		m.shape.content = d.c.Kind()
		d.content()
	case "output_config":
		m.shape.outputConfig = d.c.Kind() == jsonspan.Object
		d.c.Skip()
	}
}

// content consumes a message's content into d.blocks and d.places.
func (d *decoder) content() {
	d.part = -1
	switch d.c.Kind() {
	case jsonspan.String:
		lit := d.c.Str()
		d.blocks = append(d.blocks, transcript.Text{Text: transcript.Literal(jsonspan.View(d.data, lit))})
		d.places = append(d.places, wire.Place{Content: lit})
	case jsonspan.Array:
		d.block = 0
		for range d.c.Items {
			b, p := d.contentBlock()
			d.blocks, d.places = append(d.blocks, b), append(d.places, p)
			d.next(&d.block)
		}
	case jsonspan.Null:
	default:
		d.blocks = append(d.blocks, transcript.Opaque{Raw: jsonspan.View(d.data, d.c.Skip())})
		d.places = append(d.places, wire.Place{})
	}
	if d.c.Err() == nil {
		d.block = -1
	}
}

// next counts an element, unless it is the one where the walk failed: errors name it.
func (d *decoder) next(i *int) {
	if d.c.Err() == nil {
		*i++
	}
}

// str consumes a value and returns its span if it is a string. A value of another kind is no
// reason to refuse the request.
func (d *decoder) str() jsonspan.Span {
	if d.c.Kind() == jsonspan.String {
		return d.c.Str()
	}
	d.c.Skip()
	return jsonspan.Span{}
}

// roleOf returns the role without holding on to the body for the four usual words.
func roleOf(s string) transcript.Role {
	switch s {
	case "user":
		return transcript.RoleUser
	case "assistant":
		return transcript.RoleAssistant
	case "system":
		return transcript.RoleSystem
	}
	return transcript.Role(s)
}
