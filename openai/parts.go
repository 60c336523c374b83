package openai

import (
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/wire"
)

// The lists of a message that a block can be an element of: see [wire.Place].
const (
	listContent uint8 = iota + 1
	listCalls
	listMembers // not blocks: the members of an item, see identify
)

// builder collects the blocks of one message and their places. The finished lists are
// cut from larger ones, for a request has thousands of them.
type builder struct {
	*scanner
	blocks []pleat.Block
	places []wire.Place

	blockSlab wire.Slab[pleat.Block]
	placeSlab wire.Slab[wire.Place]
}

func (b *builder) reset() { b.blocks, b.places = b.blocks[:0], b.places[:0] }

func (b *builder) add(block pleat.Block, place wire.Place) {
	b.blocks = append(b.blocks, block)
	b.places = append(b.places, place)
}

// message finishes the message that lies at whole.
func (b *builder) message(role pleat.Role, format pleat.Format, whole value) (pleat.Message, wire.Element) {
	return pleat.WireMessage(role, format, b.raw(whole), b.blockSlab.Clone(b.blocks)...),
		wire.Element{Span: whole.Span, Places: b.placeSlab.Clone(b.places)}
}

// content adds the blocks of a message's content: a string or a list of parts.
func (b *builder) content(v value, parts []part) {
	if v.isString() {
		b.add(pleat.Text{Text: b.scanner.content(v), Raw: b.raw(v)}, wire.Place{Content: v.Span})
		return
	}
	for i := range parts {
		p := &parts[i]
		place := wire.Place{Whole: p.whole.Span, List: listContent}
		block := b.scanner.block(p)
		if block.Kind() == pleat.KindText {
			place.Content = b.said(p).Span
		}
		b.add(block, place)
	}
}

// result makes a tool result of a string or a list of parts.
func (b *builder) result(callID string, v value, parts []part, whole value) pleat.ToolResult {
	r := pleat.ToolResult{CallID: callID, Raw: b.raw(whole)}
	switch {
	case v.isString():
		list := b.blockSlab.Take(1)
		list[0] = pleat.Text{Text: b.scanner.content(v), Raw: b.raw(v)}
		r.Parts = pleat.BlocksOf(list...)
	case len(parts) > 0:
		list := b.blockSlab.Take(len(parts))
		for i := range parts {
			list[i] = b.scanner.block(&parts[i])
		}
		r.Parts = pleat.BlocksOf(list...)
	}
	return r
}

// said returns the value that holds a part's words: its text, or the refusal.
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
func (s *scanner) block(p *part) pleat.Block {
	if said := s.said(p); said.isString() {
		return pleat.Text{Text: s.content(said), Raw: s.raw(p.whole)}
	}
	typ := s.text(p.typ)
	if (typ == "image_url" || typ == "input_image") && p.url.isString() {
		img := s.image(p.url)
		img.Detail, img.Raw = s.text(p.detail), s.raw(p.whole)
		return img
	}
	return pleat.Opaque{Type: typ, Raw: s.raw(p.whole)}
}

// image splits a URL that carries the picture itself: data:image/png;base64,iVBOR…
func (s *scanner) image(url value) pleat.Image {
	text := s.text(url) // shares memory unless something is escaped, such as \/
	rest, ok := strings.CutPrefix(text, "data:")
	if !ok {
		return pleat.Image{URL: text}
	}
	head, data, ok := strings.Cut(rest, ",")
	mediaType, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 {
		return pleat.Image{URL: text}
	}
	mediaType, _, _ = strings.Cut(mediaType, ";") // parameters such as ;name=x.png
	return pleat.Image{MediaType: mediaType, Data: pleat.Plain(data)}
}

// imageURL is the reverse of [scanner.image].
func imageURL(img pleat.Image) string {
	if img.Data.IsEmpty() {
		return img.URL
	}
	mediaType := img.MediaType
	if mediaType == "" {
		mediaType = "image/png"
	}
	return "data:" + mediaType + ";base64," + img.Data.String()
}
