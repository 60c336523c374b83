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
	d := decoder{req: &Request{}, part: -1, earlier: earlier}
	d.Begin(body)
	if earlier != nil {
		d.After(earlier.Messages, earlier.body)
	}
	if err := d.Walk(d.member); err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
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

	// Where the walk is, for the paths of cache markers. The message is the one that is being read.
	section     section
	block, part int

	earlier *Request // see DecodeAfter
}

func (d *decoder) member(name string) {
	r := d.req
	if name == "messages" {
		r.marks[sectionMessages], r.shapes = nil, nil
		d.section = sectionMessages
		d.Elements(d.readMessage, d.again)
		return
	}
	v := d.Value()
	given := v.Span
	if v.Kind == jsonspan.Null {
		given = jsonspan.Span{} // null is how some clients leave a member out
	}
	switch name {
	case "model":
		r.Model = d.Text(v)
	case "system":
		r.System, r.marks[sectionSystem] = nil, nil
		if v.IsString() {
			r.System = []transcript.Block{transcript.Text{Text: d.Content(v)}}
		}
		d.section = sectionSystem
		for i, o := range d.List(v) {
			d.block = i
			b, _ := d.contentBlock(o)
			r.System = append(r.System, b)
		}
	case "tools":
		d.tools(v)
	case "thinking":
		r.top.thinking = given
	case "compaction":
		r.top.compaction = given
	case "cache_control":
		d.section, r.marks[sectionTop] = sectionTop, nil
		d.note(v)
	}
}

func (d *decoder) tools(v wire.Value) {
	r := d.req
	r.Tools, r.marks[sectionTools], r.top.tools = nil, nil, jsonspan.Span{}
	if v.Kind == jsonspan.Array {
		r.top.tools = v.Span
	}
	d.section = sectionTools
	for i, o := range d.List(v) {
		d.block = i
		d.marker(o)
		t := model.Tool{Name: d.Text(o.Get("name")), Description: d.Text(o.Get("description")), Raw: d.Raw(o.Value)}
		t.Schema = d.Raw(o.Get("input_schema"))
		r.Tools = append(r.Tools, t)
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

func (d *decoder) readMessage(o wire.Object) {
	d.Clear()
	content := o.Get("content")
	d.req.shapes = append(d.req.shapes, shape{content.Kind, o.Get("output_config").Kind == jsonspan.Object})
	switch {
	case o.Kind != jsonspan.Object:
		d.Add(transcript.Opaque{Raw: d.Raw(o.Value)}, wire.Place{})
	case content.IsString():
		d.Add(transcript.Text{Text: d.Content(content)}, wire.Place{Content: content.Span})
	case content.Given() && content.Kind != jsonspan.Array:
		d.Add(transcript.Opaque{Raw: d.Raw(content)}, wire.Place{})
	}
	for i, b := range d.List(content) {
		d.block = i
		d.Add(d.contentBlock(b))
	}
	d.Message(transcript.Role(d.Text(o.Get("role"))), transcript.FormatAnthropic, o.Value)
}

// message decodes one element of a messages array, which shares its memory. It reports false
// if the bytes are not JSON, or are nested deeper than Decode takes.
func message(raw []byte) (*Request, bool) {
	d := decoder{req: &Request{}, section: sectionMessages, part: -1}
	d.Begin(raw)
	d.readMessage(d.Object(d.Value()))
	d.req.Messages, d.req.body = d.Messages, d.Body
	return d.req, d.C.End() == nil
}
