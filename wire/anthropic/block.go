package anthropic

import (
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// fields are the members of a content block that this package reads. They are collected
// first and interpreted afterwards, because the type may come last.
type fields struct {
	typ                       string
	text, thinking, signature jsonspan.Span
	data                      jsonspan.Span
	id, name, input           jsonspan.Span
	toolUseID                 jsonspan.Span
	isError, cited            bool

	content     jsonspan.Span
	contentKind jsonspan.Kind
	references  bool // content holds tool references

	source struct {
		ok                   bool
		mediaType, data, url jsonspan.Span
	}
}

// contentBlock consumes one element of a content list, with its parts if it is a result.
func (d *decoder) contentBlock() (transcript.Block, wire.Place) {
	start := d.C.Pos()
	if d.C.Kind() != jsonspan.Object {
		whole := d.C.Skip()
		return transcript.Opaque{Raw: d.Raw(whole)}, wire.Place{Whole: whole}
	}
	var f fields
	for name := range d.C.Fields {
		d.field(&f, name)
	}
	return d.build(&f, d.Since(start))
}

var blockNotes = []string{"text", "thinking", "signature", "data", "id", "name", "tool_use_id"}

func (d *decoder) field(f *fields, name string) {
	switch name {
	case "type":
		f.typ = d.Text(d.Str())
	case "input":
		f.input = d.C.Skip()
	case "is_error":
		f.isError = d.C.Kind() == jsonspan.True
		d.C.Skip()
	case "citations":
		f.cited = d.C.Kind() == jsonspan.Array
		f.cited = d.C.Skip().Len() > len("[]") && f.cited
	case "content":
		d.blockContent(f)
	case "source":
		d.source(f)
	case "cache_control":
		d.marker()
	default:
		d.Note(name, blockNotes, &f.text, &f.thinking, &f.signature, &f.data, &f.id, &f.name, &f.toolUseID)
	}
}

// blockContent consumes a block's own content. It looks only into lists of a message's own
// blocks, because content does not nest deeper on this wire.
func (d *decoder) blockContent(f *fields) {
	start := d.C.Pos()
	f.contentKind = d.C.Kind()
	if f.contentKind != jsonspan.Array || d.part >= 0 {
		f.content = d.C.Skip()
		return
	}
	d.parts, f.references = d.parts[:0], false
	d.part = 0
	for range d.C.Items {
		b, _ := d.contentBlock()
		if o, ok := b.(transcript.Opaque); ok && o.Type == "tool_reference" {
			f.references = true
		}
		d.parts = append(d.parts, b)
		d.part++
	}
	d.part = -1
	f.content = d.Since(start)
}

func (d *decoder) source(f *fields) {
	f.source.ok = d.C.Kind() == jsonspan.Object
	for name := range d.C.Fields {
		d.Note(name, []string{"media_type", "data", "url"}, &f.source.mediaType, &f.source.data, &f.source.url)
	}
}

// build makes the block that the fields describe. A block without a member that its type
// must have is opaque.
func (d *decoder) build(f *fields, whole jsonspan.Span) (transcript.Block, wire.Place) {
	raw, place := d.Raw(whole), wire.Place{Whole: whole}
	switch {
	case f.typ == "text" && !f.text.IsZero():
		if !f.cited { // citations belong to these very words
			place.Content = f.text
		}
		return transcript.Text{Text: d.Literal(f.text), Raw: raw}, place
	case f.typ == "thinking" && !f.thinking.IsZero():
		return transcript.Thinking{Text: d.Literal(f.thinking), Signature: d.Text(f.signature), Raw: raw}, place
	case f.typ == "redacted_thinking" && !f.data.IsZero():
		return transcript.Thinking{Signature: d.Text(f.data), Redacted: true, Raw: raw}, place
	case f.typ == "tool_use" && !f.id.IsZero() && !f.name.IsZero():
		place.Content, place.JSON = f.input, true
		return transcript.ToolCall{
			ID: d.Text(f.id), Name: d.Text(f.name),
			Input: transcript.Plain(d.Raw(f.input)), Raw: raw,
		}, place
	case f.typ == "tool_result" && !f.toolUseID.IsZero():
		return d.result(f, raw, place)
	case f.typ == "image" && f.source.ok:
		return transcript.Image{
			MediaType: d.Text(f.source.mediaType), Data: d.Literal(f.source.data),
			URL: d.Text(f.source.url), Raw: raw,
		}, place
	}
	return transcript.Opaque{Type: f.typ, Stands: stands(f.typ), Raw: raw}, place
}

// stands reports whether a block is the provider's own memory of what came before, or changes
// the tools.
func stands(typ string) bool {
	return typ == "compaction" || typ == "tool_addition" || typ == "tool_removal"
}

func (d *decoder) result(f *fields, raw string, place wire.Place) (transcript.Block, wire.Place) {
	r := transcript.ToolResult{CallID: d.Text(f.toolUseID), Error: f.isError, Raw: raw}
	switch {
	case d.part >= 0: // a result inside a result cannot be edited
		return transcript.Opaque{Type: f.typ, Raw: raw}, place
	case f.contentKind == jsonspan.String, f.contentKind == jsonspan.Array:
		if f.contentKind == jsonspan.String {
			d.parts = append(d.parts[:0], transcript.Text{Text: d.Literal(f.content)})
		}
		r.Parts, place.Content = transcript.BlocksOf(d.parts...), f.content
	case f.contentKind != jsonspan.Invalid && f.contentKind != jsonspan.Null:
		r.Parts = transcript.BlocksOf(transcript.Opaque{Raw: d.Raw(f.content)})
	}
	if f.references { // later turns depend on the tools that they load
		place.Content, place.Fixed = jsonspan.Span{}, true
	}
	return r, place
}
