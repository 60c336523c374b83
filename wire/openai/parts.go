package openai

import (
	"cmp"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

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
	r.Parts = b.Parts(list)
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
