package gemini

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// encoder writes contents. It knows the names of the calls so far, because responses need
// them.
type encoder struct {
	names  map[string]string // by id
	signed bool              // the first call of a content must have a signature
}

// turn writes a content; it is empty if nothing is left of it.
func (e *encoder) turn(t wire.Turn) []byte {
	for _, b := range t.Blocks {
		if c, ok := b.(transcript.ToolCall); ok && e.names != nil {
			e.names[c.ID] = c.Name
		}
	}
	if t.Raw != "" {
		return []byte(t.Raw)
	}
	var parts [][]byte
	called := false
	for _, b := range t.Blocks {
		raw := e.part(b, !called)
		called = called || b.Kind() == transcript.KindToolCall
		if len(raw) > 0 {
			parts = append(parts, raw)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return content(t.Role, parts)
}

func content(role string, parts [][]byte) []byte {
	out := append([]byte(`{"role":"`+role+`","parts":[`), bytes.Join(parts, []byte{','})...)
	return append(out, "]}"...)
}

// part writes a block, in its own bytes where they are of this format. It writes nothing for
// empty text and for reasoning that only another provider can read.
func (e *encoder) part(b transcript.Block, firstCall bool) []byte {
	if raw := ownRaw(b); raw != "" {
		return []byte(raw)
	}
	switch b := b.(type) {
	case transcript.Text:
		if b.Text.IsEmpty() {
			return nil
		}
		return []byte(`{"text":` + b.Text.Literal() + `}`)
	case transcript.ToolCall:
		return e.call(b, firstCall && e.signed)
	case transcript.ToolResult:
		return e.result(b)
	case transcript.Image:
		return image(b)
	case transcript.Opaque:
		return note(cmp.Or(b.Type, "item"))
	}
	return nil
}

func note(what string) []byte {
	return append(jsonspan.AppendQuote([]byte(`{"text":`), "["+what+" left out: it has no form here]"), '}')
}

func (e *encoder) call(b transcript.ToolCall, sign bool) []byte {
	out := jsonspan.AppendQuote(append(opened("functionCall", b.ID, b.Name), `"name":`...), b.Name)
	if input := wire.Input(b); input != "" {
		out = append(append(out, `,"args":`...), input...)
	}
	out = append(out, '}')
	if sign {
		out = append(out, `,"thoughtSignature":"`+unsigned+`"`...)
	}
	return append(out, '}')
}

// opened opens a call or a response. A name for an id means that the wire had none.
func opened(member, id, name string) []byte {
	out := []byte(`{"` + member + `":{`)
	if id != "" && id != name {
		out = append(jsonspan.AppendQuote(append(out, `"id":`...), id), ',')
	}
	return out
}

func (e *encoder) result(b transcript.ToolResult) []byte {
	name := cmp.Or(e.names[b.CallID], b.CallID)
	out := jsonspan.AppendQuote(append(opened("functionResponse", b.CallID, name), `"name":`...), name)
	member := "output"
	if b.Error {
		member = "error"
	}
	out = jsonspan.AppendQuote(append(out, `,"response":{"`+member+`":`...), b.Text())
	out = append(out, '}')
	var parts [][]byte
	for _, p := range b.Parts.All() {
		if img, ok := p.(transcript.Image); ok {
			parts = append(parts, image(img))
		}
	}
	if len(parts) > 0 {
		out = append(append(append(out, `,"parts":[`...), bytes.Join(parts, []byte{','})...), ']')
	}
	return append(out, "}}"...)
}

func image(b transcript.Image) []byte {
	if own := ownRaw(b); own != "" {
		return []byte(own)
	}
	if b.Data.IsEmpty() && strings.HasPrefix(b.URL, "data:") {
		b = transcript.ImageAt(b.URL)
	}
	media := cmp.Or(b.MediaType, "image/png")
	var out []byte
	switch {
	case !b.Data.IsEmpty():
		out = jsonspan.AppendQuote([]byte(`{"inlineData":{"mimeType":`), media)
		out = append(append(out, `,"data":`...), b.Data.Literal()...)
	case b.URL != "":
		out = jsonspan.AppendQuote([]byte(`{"fileData":{"mimeType":`), media)
		out = jsonspan.AppendQuote(append(out, `,"fileUri":`...), b.URL)
	default:
		return note("image")
	}
	return append(out, "}}"...)
}

// ownRaw returns a block's bytes if they are a part of this format, else "". An edited
// message no longer says where its blocks came from, so the bytes decide.
func ownRaw(b transcript.Block) string {
	raw := transcript.RawOf(b)
	if raw == "" {
		return ""
	}
	if jsonspan.Value(raw).Get("type") != nil { // parts of all other formats have one
		return ""
	}
	again, ok := readPart([]byte(raw))
	if o, opaque := again.(transcript.Opaque); !ok || again.Kind() != b.Kind() || opaque && o.Type == "" {
		return ""
	}
	return raw
}
