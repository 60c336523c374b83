package anthropic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

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
	d := decoder{req: &Request{}, section: sectionTop, earlier: earlier}
	d.Begin(body)
	if earlier != nil {
		d.After(earlier.Messages, earlier.body)
	}
	d.request()
	if err := d.C.End(); err != nil {
		return nil, fmt.Errorf("decode request: %s%w", d.place(), err)
	}
	if d.Body.Array.IsZero() {
		return nil, errors.New("decode request: no messages array")
	}
	d.req.Messages, d.req.body = d.Messages, d.Body
	return d.req, nil
}

type decoder struct {
	wire.Walker
	req *Request

	// Where the walk is, for errors and for the paths of cache markers. The message is the
	// one that is being read.
	section     section
	block, part int

	parts   []transcript.Block // of a result; used again for every one
	earlier *Request           // see DecodeAfter
}

// place says in which block the walk is.
func (d *decoder) place() string {
	if d.section == sectionTop {
		return ""
	}
	return mark{message: len(d.Messages), block: d.block, part: -1}.path(d.section) + ": "
}

func (d *decoder) request() {
	for name := range d.C.Fields {
		switch name {
		case "messages":
			d.messages()
		case "system":
			d.system()
		case "tools":
			d.tools()
		default:
			d.member(name)
		}
		if d.C.Err() != nil {
			return
		}
		d.section = sectionTop
	}
}

// member consumes a member of the top level that is not a list of things.
func (d *decoder) member(name string) {
	top, kind := &d.req.top, d.C.Kind()
	if name == "cache_control" {
		d.req.marks[sectionTop] = nil
		d.marker()
		return
	}
	value := d.C.Skip()
	if kind == jsonspan.Null {
		value = jsonspan.Span{} // null is how some clients leave a member out
	}
	switch name {
	case "model":
		d.req.Model = ""
		if kind == jsonspan.String {
			d.req.Model = d.Text(value)
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
	start := d.C.Pos()
	switch d.C.Kind() {
	case jsonspan.String:
		d.req.System = []transcript.Block{transcript.Text{Text: d.Literal(d.C.Str())}}
	case jsonspan.Array:
		for range d.C.Items {
			b, _ := d.contentBlock()
			d.req.System = append(d.req.System, b)
			d.next()
		}
	case jsonspan.Null:
		d.req.top.system = jsonspan.Span{}
		return
	default:
		d.C.Skip()
	}
	d.req.top.system = d.Since(start)
}

func (d *decoder) tools() {
	d.section, d.block, d.part = sectionTools, 0, -1
	d.req.Tools, d.req.marks[sectionTools] = nil, nil
	d.req.top.tools = jsonspan.Span{}
	if d.C.Kind() != jsonspan.Array {
		return
	}
	start := d.C.Pos()
	for range d.C.Items {
		d.req.Tools = append(d.req.Tools, d.tool())
		d.next()
	}
	d.req.top.tools = d.Since(start)
}

func (d *decoder) tool() model.Tool {
	start := d.C.Pos()
	var t model.Tool
	for name := range d.C.Fields {
		switch name {
		case "name":
			t.Name = d.Text(d.Str())
		case "description":
			t.Description = d.Text(d.Str())
		case "input_schema":
			t.Schema = d.Raw(d.C.Skip())
		case "cache_control":
			d.marker()
		}
	}
	t.Raw = d.Raw(d.Since(start))
	return t
}

func (d *decoder) messages() {
	d.Messages, d.Body.Elements, d.Body.Array = nil, nil, jsonspan.Span{}
	d.req.marks[sectionMessages], d.req.shapes = nil, nil
	if d.C.Kind() == jsonspan.Array {
		d.section, d.block = sectionMessages, -1
		d.Elements(d.walkMessage, d.again)
	}
}

// again notes what the earlier request knew of a message.
func (d *decoder) again(i int) {
	r, marks := d.req, d.earlier.marks[sectionMessages]
	r.shapes = append(r.shapes, d.earlier.shapes[i])
	at, _ := slices.BinarySearchFunc(marks, i, func(m mark, i int) int { return m.message - i })
	for ; at < len(marks) && marks[at].message == i; at++ {
		r.marks[sectionMessages] = append(r.marks[sectionMessages], marks[at])
	}
}

func (d *decoder) walkMessage() {
	start := d.C.Pos()
	m := messageFields{marks: len(d.req.marks[sectionMessages])}
	d.Clear()
	if d.C.Kind() == jsonspan.Object {
		for name := range d.C.Fields {
			d.messageMember(&m, name)
		}
	} else {
		d.Add(d.Opaque(), wire.Place{})
	}
	if d.C.Err() == nil {
		d.req.shapes = append(d.req.shapes, m.shape)
		d.Message(transcript.Role(m.role), transcript.FormatAnthropic, d.Since(start))
	}
}

// message decodes one element of a messages array, which shares its memory. It reports false
// if the bytes are not JSON, or are nested deeper than Decode takes.
func message(raw []byte) (*Request, bool) {
	d := decoder{req: &Request{}, section: sectionMessages, block: -1}
	d.Begin(raw)
	d.walkMessage()
	d.req.Messages, d.req.body = d.Messages, d.Body
	return d.req, d.C.End() == nil
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
		m.role = d.Text(d.Str())
	case "content":
		d.Clear()
		d.req.marks[sectionMessages] = d.req.marks[sectionMessages][:m.marks]
		m.shape.content = d.C.Kind()
		d.content()
	case "output_config":
		m.shape.outputConfig = d.C.Kind() == jsonspan.Object
		d.C.Skip()
	}
}

func (d *decoder) content() {
	d.part = -1
	switch d.C.Kind() {
	case jsonspan.String:
		lit := d.C.Str()
		d.Add(transcript.Text{Text: d.Literal(lit)}, wire.Place{Content: lit})
	case jsonspan.Array:
		d.block = 0
		for range d.C.Items {
			d.Add(d.contentBlock())
			d.next()
		}
	case jsonspan.Null:
	default:
		d.Add(d.Opaque(), wire.Place{})
	}
	if d.C.Err() == nil {
		d.block = -1
	}
}

// next counts a block, unless it is the one where the walk failed: errors name it.
func (d *decoder) next() {
	if d.C.Err() == nil {
		d.block++
	}
}
