package openai

import (
	"cmp"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// Reading is done in two steps. Scanning passes over a message once and notes where its
// members are and of what kind; it refuses nothing that is JSON. Decoding and checking then
// look at the notes. Members come in any order, content often before type and role, so
// nothing can be decided during the scan.

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

// note keeps the value of the member at the cursor if its key is among names. It leaves other
// members to the cursor, which passes over them.
func (s *scanner) note(key string, names []string, into ...*value) {
	if i := slices.Index(names, key); i >= 0 {
		*into[i] = s.value()
	}
}

// fields walks the object at the cursor with a function that reads members, or leaves them to the
// cursor. It returns the object, and anything else that is there.
func (s *scanner) fields(member func(key string)) value {
	start, kind := s.C.Pos(), s.C.Kind()
	for key := range s.C.Fields {
		member(key)
	}
	return value{s.Since(start), kind}
}

// items walks the list at the cursor as fields does an object.
func (s *scanner) items(element func()) value {
	start, kind := s.C.Pos(), s.C.Kind()
	for range s.C.Items {
		element()
	}
	return value{s.Since(start), kind}
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
	return jsonspan.Value(v.Of(s.Data)).Int()
}

type part struct {
	whole  value
	typ    value
	text   value // of text, input_text, output_text, reasoning_text and summary_text
	said   value // the refusal
	url    value // of image_url and input_image
	detail value

	stdout, stderr, outcome value // of a shell_call_output
}

// parts passes over content, which is text or a list of parts, and appends the parts to
// buf.
func (s *scanner) parts(buf []part) (value, []part) {
	whole := s.items(func() { buf = append(buf, s.part()) })
	return whole, buf
}

var partNotes = []string{"type", "text", "refusal", "detail", "stdout", "stderr", "outcome"}

func (s *scanner) part() part {
	var p part
	p.whole = s.fields(func(key string) {
		if key == "image_url" { // an object on the Chat wire, a string on the Responses one
			s.imageURL(&p)
		} else {
			s.note(key, partNotes, &p.typ, &p.text, &p.said, &p.detail, &p.stdout, &p.stderr, &p.outcome)
		}
	})
	return p
}

func (s *scanner) imageURL(p *part) {
	if s.C.Kind() != jsonspan.Object {
		p.url = s.value()
		return
	}
	p.url = value{}
	for key := range s.C.Fields {
		s.note(key, []string{"url", "detail"}, &p.url, &p.detail)
	}
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
func (b *builder) content(v value, parts []part) {
	if v.isString() {
		b.Add(transcript.Text{Text: b.scanner.content(v), Raw: b.raw(v)}, wire.Place{Content: v.Span})
		return
	}
	for i := range parts {
		p := &parts[i]
		place := wire.Place{Whole: p.whole.Span, List: listContent}
		block := b.scanner.block(p)
		if block.Kind() == transcript.KindText {
			place.Content = b.said(p).Span
		}
		b.Add(block, place)
	}
}

// result makes a tool result of a string or a list of parts.
func (b *builder) result(callID string, v value, parts []part, whole value) transcript.ToolResult {
	r := transcript.ToolResult{CallID: callID, Raw: b.raw(whole)}
	var few [4]transcript.Block
	list := few[:0]
	if v.isString() {
		list = append(list, transcript.Text{Text: b.scanner.content(v), Raw: b.raw(v)})
	}
	for i := range parts {
		list = append(list, b.scanner.block(&parts[i]))
	}
	r.Parts = transcript.BlocksOf(list...)
	return r
}

// said returns the value that holds a part's text, or its refusal.
func (s *scanner) said(p *part) value {
	switch s.text(p.typ) {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		if p.text.isString() {
			return p.text
		}
	case "refusal":
		if p.said.isString() {
			return p.said
		}
	}
	return value{}
}

// block decodes a part. A refusal is text: the model said it. What is not text or an
// image stays opaque.
func (s *scanner) block(p *part) transcript.Block {
	if said := s.said(p); said.isString() {
		return transcript.Text{Text: s.content(said), Raw: s.raw(p.whole)}
	}
	typ := s.text(p.typ)
	if (typ == "image_url" || typ == "input_image") && p.url.isString() {
		img := transcript.ImageAt(s.text(p.url)) // shares memory unless something is escaped, such as \/
		img.Detail, img.Raw = s.text(p.detail), s.raw(p.whole)
		return img
	}
	return transcript.Opaque{Type: typ, Raw: s.raw(p.whole)}
}

// imageURL is the reverse of [transcript.ImageAt].
func imageURL(img transcript.Image) string {
	if img.Data.IsEmpty() {
		return img.URL
	}
	return "data:" + cmp.Or(img.MediaType, "image/png") + ";base64," + img.Data.String()
}
