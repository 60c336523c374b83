package openai

import (
	"cmp"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

type (
	value  = wire.Value
	object = wire.Object
)

// scanner reads what the two formats have in common. It refuses nothing that is JSON.
type scanner struct{ wire.Walker }

func scan(data []byte) *scanner {
	s := &scanner{}
	s.Begin(data)
	return s
}

// The lists of a message that a block can be an element of: see [wire.Place].
const (
	listContent uint8 = iota + 1
	listCalls
)

// builder makes blocks of what the scanner noted.
type builder struct{ *scanner }

// content adds the blocks of a message's content: a string or a list of parts.
func (b *builder) content(v value) {
	if v.IsString() {
		b.Add(transcript.Text{Text: b.Content(v), Raw: b.Raw(v)}, wire.Place{Content: v.Span})
		return
	}
	for _, p := range b.List(v) {
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
	if v.IsString() {
		list = append(list, transcript.Text{Text: b.Content(v), Raw: b.Raw(v)})
	}
	for _, p := range b.List(v) {
		list = append(list, b.scanner.block(p))
	}
	return transcript.ToolResult{CallID: callID, Raw: b.Raw(whole), Parts: transcript.BlocksOf(list...)}
}

// said returns the value that holds a part's text, or its refusal.
func (s *scanner) said(p object) value {
	switch s.Text(p.Get("type")) {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return p.Get("text")
	case "refusal":
		return p.Get("refusal")
	}
	return value{}
}

// block decodes a part. A refusal is text: the model said it. What is not text or an
// image stays opaque.
func (s *scanner) block(p object) transcript.Block {
	if said := s.said(p); said.IsString() {
		return transcript.Text{Text: s.Content(said), Raw: s.Raw(p.Value)}
	}
	typ, url, detail := s.Text(p.Get("type")), p.Get("image_url"), p.Get("detail")
	if o := s.Object(url); url.Kind == jsonspan.Object { // on the Chat wire
		url, detail = o.Get("url"), o.Get("detail")
	}
	if (typ == "image_url" || typ == "input_image") && url.IsString() {
		img := transcript.ImageAt(s.Text(url)) // shares memory unless something is escaped, such as \/
		img.Detail, img.Raw = s.Text(detail), s.Raw(p.Value)
		return img
	}
	return transcript.Opaque{Type: typ, Raw: s.Raw(p.Value)}
}

// imageURL is the reverse of [transcript.ImageAt].
func imageURL(img transcript.Image) string {
	if img.Data.IsEmpty() {
		return img.URL
	}
	return "data:" + cmp.Or(img.MediaType, "image/png") + ";base64," + img.Data.String()
}
