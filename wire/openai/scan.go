package openai

import (
	"cmp"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// Members come in any order, content often before type and role, so nothing can be decided while
// they are passed over: an object is taken apart first, and then asked for its members. It
// refuses nothing that is JSON.

// value is a JSON value that was passed over. Its kind is Invalid if there is none.
type value struct {
	jsonspan.Span
	kind jsonspan.Kind
}

// given reports whether the value is there and is not null, which clients send for members
// that they do not use.
func (v value) given() bool { return v.kind != jsonspan.Invalid && v.kind != jsonspan.Null }

func (v value) isString() bool { return v.kind == jsonspan.String }

type scanner struct{ wire.Walker }

func scan(data []byte) *scanner {
	s := &scanner{}
	s.Begin(data)
	return s
}

// value passes over the value at the cursor.
func (s *scanner) value() value {
	kind := s.C.Kind()
	return value{s.C.Skip(), kind}
}

// object is a value with its members, if it is an object.
type object struct {
	value
	fields []field
}

type field struct {
	name string
	value
}

// get returns a member; of several the last counts.
func (o object) get(name string) value {
	for _, f := range slices.Backward(o.fields) {
		if f.name == name {
			return f.value
		}
	}
	return value{}
}

func (s *scanner) json(v value) jsonspan.Value { return v.Of(s.Data) }

// part is the value at a span of another one.
func (s *scanner) part(of value, at jsonspan.Span) value {
	v := value{Span: at.Move(of.Start)}
	v.kind = s.json(v).Kind()
	return v
}

func (s *scanner) object(v value) object {
	o := object{value: v}
	for key, at := range s.json(v).Members() {
		o.fields = append(o.fields, field{s.Text(key.Move(v.Start)), s.part(v, at)})
	}
	return o
}

// list takes a list apart whose elements should be objects.
func (s *scanner) list(v value) (out []object) {
	for at := range s.json(v).Elements() {
		out = append(out, s.object(s.part(v, at)))
	}
	return out
}

// text returns the decoded text of a string, "" for anything else.
func (s *scanner) text(v value) string {
	if !v.isString() {
		return ""
	}
	return s.Text(v.Span)
}

// raw returns the value's bytes, sharing their memory.
func (s *scanner) raw(v value) string { return s.Raw(v.Span) }

// content returns a string as block content that shares its memory. For other kinds the
// content is the JSON text.
func (s *scanner) content(v value) transcript.Content {
	switch {
	case v.isString():
		return transcript.Literal(s.raw(v))
	case v.given():
		return transcript.Plain(s.raw(v))
	}
	return transcript.Content{}
}

// number returns an integer, 0 for anything else.
func (s *scanner) number(v value) int {
	if v.kind != jsonspan.Number {
		return 0
	}
	return s.json(v).Int()
}

// The lists of a message that a block can be an element of: see [wire.Place].
const (
	listContent uint8 = iota + 1
	listCalls
	listMembers // not blocks: the members of an item, see anonymous
)

// builder makes blocks of what the scanner noted.
type builder struct{ *scanner }

// content adds the blocks of a message's content: a string or a list of parts.
func (b *builder) content(v value) {
	if v.isString() {
		b.Add(transcript.Text{Text: b.scanner.content(v), Raw: b.raw(v)}, wire.Place{Content: v.Span})
		return
	}
	for _, p := range b.list(v) {
		place := wire.Place{Whole: p.Span, List: listContent}
		block := b.scanner.block(p)
		if block.Kind() == transcript.KindText {
			place.Content = b.said(p).Span
		}
		b.Add(block, place)
	}
}

// result makes a tool result of a string or a list of parts.
func (b *builder) result(callID string, v, whole value) transcript.ToolResult {
	var list []transcript.Block
	if v.isString() {
		list = append(list, transcript.Text{Text: b.scanner.content(v), Raw: b.raw(v)})
	}
	for _, p := range b.list(v) {
		list = append(list, b.scanner.block(p))
	}
	return transcript.ToolResult{CallID: callID, Raw: b.raw(whole), Parts: transcript.BlocksOf(list...)}
}

// said returns the value that holds a part's text, or its refusal.
func (s *scanner) said(p object) value {
	switch s.text(p.get("type")) {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return p.get("text")
	case "refusal":
		return p.get("refusal")
	}
	return value{}
}

// block decodes a part. A refusal is text: the model said it. What is not text or an
// image stays opaque.
func (s *scanner) block(p object) transcript.Block {
	if said := s.said(p); said.isString() {
		return transcript.Text{Text: s.content(said), Raw: s.raw(p.value)}
	}
	typ, url, detail := s.text(p.get("type")), p.get("image_url"), p.get("detail")
	if o := s.object(url); url.kind == jsonspan.Object { // on the Chat wire
		url, detail = o.get("url"), o.get("detail")
	}
	if (typ == "image_url" || typ == "input_image") && url.isString() {
		img := transcript.ImageAt(s.text(url)) // shares memory unless something is escaped, such as \/
		img.Detail, img.Raw = s.text(detail), s.raw(p.value)
		return img
	}
	return transcript.Opaque{Type: typ, Raw: s.raw(p.value)}
}

// imageURL is the reverse of [transcript.ImageAt].
func imageURL(img transcript.Image) string {
	if img.Data.IsEmpty() {
		return img.URL
	}
	return "data:" + cmp.Or(img.MediaType, "image/png") + ";base64," + img.Data.String()
}
