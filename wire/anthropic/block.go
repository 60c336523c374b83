package anthropic

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// contentBlock makes the block of an element of a content list, with its parts if it is a result. One
// without a member that its type must have is opaque.
func (d *decoder) contentBlock(o wire.Object) (transcript.Block, wire.Place) {
	typ, parts := d.Text(o.Get("type")), d.partsOf(o)
	d.marker(o)
	id, name, text, thinking := o.Get("id"), o.Get("name"), o.Get("text"), o.Get("thinking")
	source := d.Object(o.Get("source"))
	raw, place := d.Raw(o.Value), wire.Place{Whole: o.Span}
	switch {
	case typ == "text" && text.IsString():
		if c := o.Get("citations"); c.Kind != jsonspan.Array || c.Len() <= len("[]") { // they belong to these very words
			place.Content = text.Span
		}
		return transcript.Text{Text: d.Content(text), Raw: raw}, place
	case typ == "thinking" && thinking.IsString():
		return transcript.Thinking{Text: d.Content(thinking), Signature: d.Text(o.Get("signature")), Raw: raw}, place
	case typ == "redacted_thinking" && o.Get("data").IsString():
		return transcript.Thinking{Signature: d.Text(o.Get("data")), Redacted: true, Raw: raw}, place
	case typ == "tool_use" && id.IsString() && name.IsString():
		input := o.Get("input")
		place.Content, place.JSON = input.Span, true
		return transcript.ToolCall{
			ID: d.Text(id), Name: d.Text(name), Input: transcript.Plain(d.Raw(input)), Raw: raw,
		}, place
	case typ == "tool_result" && o.Get("tool_use_id").IsString() && d.part < 0: // one inside a result cannot be edited
		return d.result(o, parts, raw, place)
	case typ == "image" && source.Kind == jsonspan.Object:
		return transcript.Image{
			MediaType: d.Text(source.Get("media_type")), Data: d.Content(source.Get("data")),
			URL: d.Text(source.Get("url")), Raw: raw,
		}, place
	}
	b := transcript.Opaque{Type: typ, Stands: stands(typ), Raw: raw}
	switch {
	case typ == "server_tool_use" || typ == "mcp_tool_use":
		b.Opens = d.Text(id)
	case strings.HasSuffix(typ, "_tool_result"): // in a later message if client tools had to run first
		b.Closes = d.Text(o.Get("tool_use_id"))
	}
	return b, place
}

// partsOf makes the blocks of a block's own content. It looks only into lists of a message's own
// blocks, because content does not nest deeper on this wire.
func (d *decoder) partsOf(o wire.Object) (parts []transcript.Block) {
	if d.part >= 0 {
		return nil
	}
	for i, p := range d.List(o.Get("content")) {
		d.part = i
		b, _ := d.contentBlock(p)
		parts = append(parts, b)
	}
	d.part = -1
	return parts
}

// stands reports whether a block is the provider's own memory of what came before, or changes
// the tools.
func stands(typ string) bool {
	return typ == "compaction" || typ == "tool_addition" || typ == "tool_removal"
}

func (d *decoder) result(
	o wire.Object, parts []transcript.Block, raw string, place wire.Place,
) (transcript.Block, wire.Place) {
	r := transcript.ToolResult{
		CallID: d.Text(o.Get("tool_use_id")), Error: o.Get("is_error").Kind == jsonspan.True, Raw: raw,
	}
	content := o.Get("content")
	switch {
	case content.IsString():
		parts = []transcript.Block{transcript.Text{Text: d.Content(content)}}
	case content.Given() && content.Kind != jsonspan.Array:
		parts = []transcript.Block{transcript.Opaque{Raw: d.Raw(content)}}
	}
	if content.IsString() || content.Kind == jsonspan.Array {
		place.Content = content.Span
	}
	r.Parts = transcript.BlocksOf(parts...)
	if slices.ContainsFunc(parts, func(b transcript.Block) bool { return opaqueType(b) == "tool_reference" }) {
		place.Content, place.Fixed = jsonspan.Span{}, true // later turns depend on the tools that they load
	}
	return r, place
}
