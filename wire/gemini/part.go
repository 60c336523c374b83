package gemini

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// part is what is noted of a part while it is walked: its members come in any order.
type part struct {
	kind      string // the member that holds the data, such as functionCall
	text      jsonspan.Span
	signature jsonspan.Span
	thought   bool

	value          jsonspan.Span // of functionCall or functionResponse
	id, name, args jsonspan.Span
	response       response

	mime, data, uri jsonspan.Span // of inlineData or fileData
}

type response struct {
	whole   jsonspan.Span
	members int
	only    jsonspan.Span // the last member that is a string
	failed  bool          // it has an error
	parts   []transcript.Block
}

// dataNames are the members that hold a part's data. A part has one of them.
var dataNames = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse",
	"executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

func (d *decoder) part() (transcript.Block, wire.Place) {
	start := d.C.Pos()
	if d.C.Kind() != jsonspan.Object {
		whole := d.C.Skip()
		return transcript.Opaque{Raw: d.Raw(whole)}, wire.Place{Whole: whole, List: 1}
	}
	var p part
	for name := range d.C.Fields {
		name = camel(name)
		if slices.Contains(dataNames, name) {
			p.kind = strings.Clone(name)
		}
		d.partMember(&p, name)
	}
	return d.build(&p, d.Since(start))
}

func (d *decoder) partMember(p *part, name string) {
	start := d.C.Pos()
	switch name {
	case "text":
		p.text = d.Str()
	case "thought":
		p.thought = d.C.Kind() == jsonspan.True
	case "thoughtSignature":
		p.signature = d.Str()
	case "functionCall", "functionResponse":
		p.id, p.name, p.args, p.response = jsonspan.Span{}, jsonspan.Span{}, jsonspan.Span{}, response{}
		for name := range d.C.Fields {
			d.functionMember(p, camel(name))
		}
		p.value = d.Since(start)
	case "inlineData", "fileData":
		for name := range d.C.Fields {
			d.Note(camel(name), []string{"mimeType", "data", "fileUri"}, &p.mime, &p.data, &p.uri)
		}
	}
}

func (d *decoder) functionMember(p *part, name string) {
	switch name {
	case "id":
		p.id = d.Str()
	case "name":
		p.name = d.Str()
	case "args":
		if kind := d.C.Kind(); kind != jsonspan.Null {
			p.args = d.C.Skip()
		}
	case "response":
		r, start := &p.response, d.C.Pos()
		r.members, r.only, r.failed, r.whole = 0, jsonspan.Span{}, false, jsonspan.Span{}
		if d.C.Kind() == jsonspan.Null {
			return
		}
		for name := range d.C.Fields {
			r.members++
			r.failed = r.failed || name == "error" && d.C.Kind() != jsonspan.Null
			if d.C.Kind() == jsonspan.String {
				r.only = d.C.Str()
			}
		}
		r.whole = d.Since(start)
	case "parts":
		p.response.parts = nil
		for range d.C.Items {
			b, _ := d.part()
			p.response.parts = append(p.response.parts, b)
		}
	}
}

// build makes the block that the part describes. A part without a member that its kind must
// have is opaque.
func (d *decoder) build(p *part, whole jsonspan.Span) (transcript.Block, wire.Place) {
	raw, place := d.Raw(whole), wire.Place{Whole: whole, List: 1}
	signature := d.Text(p.signature)
	switch {
	case p.kind == "text" && p.text.Len() <= len(`""`) && signature != "":
		// The end of a stream: a signature that belongs to no words.
		return transcript.Thinking{Signature: signature, Redacted: true, Raw: raw}, place
	case p.kind == "text" && !p.text.IsZero() && p.thought:
		return transcript.Thinking{Text: d.Literal(p.text), Signature: signature, Raw: raw}, place
	case p.kind == "text" && !p.text.IsZero():
		place.Content = p.text
		if signature != "" { // it is for these words
			others := d.others(whole, "text", "thoughtSignature")
			place.Content, place.Around = whole, &wire.Around{Before: others + `"text":`, After: "}"}
		}
		return transcript.Text{Text: d.Literal(p.text), Raw: raw}, place
	case p.kind == "functionCall" && !p.name.IsZero():
		signed := signature != "" && signature != unsigned
		if !signed { // it is for these arguments
			place.Content, place.JSON = p.args, true
		}
		return transcript.ToolCall{
			ID: d.callID(p), Name: d.Text(p.name), Input: transcript.Plain(d.Raw(p.args)), Signed: signed, Raw: raw,
		}, place
	case p.kind == "functionResponse" && !p.name.IsZero():
		return d.result(p, raw, place)
	case (p.kind == "inlineData" && !p.data.IsZero() || p.kind == "fileData" && !p.uri.IsZero()) &&
		strings.HasPrefix(d.Text(p.mime), "image/"):
		return transcript.Image{
			MediaType: d.Text(p.mime), Data: d.Literal(p.data), URL: d.Text(p.uri), Raw: raw,
		}, place
	}
	return transcript.Opaque{Type: p.kind, Raw: raw}, place
}

// callID is the call's id, or the function's name: without ids, the responses of an answer
// belong to its calls by name and order. Gemini CLI puts the name before the ids that it
// gets, and makes up ids for calls that came without; both are undone, so that a call is
// known by the id that the model gave it.
func (d *decoder) callID(p *part) string {
	id, name := d.Text(p.id), d.Text(p.name)
	if own, ok := strings.CutPrefix(id, name+"__"); ok {
		id = own
		rest, numbered := strings.CutPrefix(id, name+"_")
		if strings.HasPrefix(id, "synth_") || numbered && strings.Trim(rest, "_0123456789") == "" {
			return name
		}
	}
	return cmp.Or(id, name)
}

// result decodes a response. Its text is its only member, if that is a string, as almost all
// clients have it, else its JSON.
func (d *decoder) result(p *part, raw string, place wire.Place) (transcript.Block, wire.Place) {
	r := &p.response
	list := make([]transcript.Block, 0, 1+len(r.parts))
	name := "output"
	if r.failed {
		name = "error"
	}
	switch {
	case r.members == 1 && !r.only.IsZero():
		list = append(list, transcript.Text{Text: d.Literal(r.only)})
		place.Content = r.only
	case !r.whole.IsZero():
		list = append(list, transcript.Text{Text: transcript.Plain(d.Raw(r.whole))})
		place.Content, place.Around = r.whole, &wire.Around{Before: `{"` + name + `":`, After: "}"}
	}
	if len(r.parts) > 0 || r.whole.IsZero() { // all of it goes when it is folded
		others := d.others(p.value, "response", "parts")
		place.Content, place.Around = p.value, &wire.Around{Before: others + `"response":{"` + name + `":`, After: "}}"}
	}
	return transcript.ToolResult{
		CallID: d.callID(p), Error: r.failed, Parts: transcript.BlocksOf(append(list, r.parts...)...), Raw: raw,
	}, place
}

// others opens an object with what another one says besides some members.
func (d *decoder) others(at jsonspan.Span, besides ...string) string {
	var out strings.Builder
	out.WriteByte('{')
	value := jsonspan.Value(at.Of(d.Data))
	for key, v := range value.Members() {
		if !slices.Contains(besides, camel(jsonspan.Text(value, key))) {
			out.Write(value[key.Start:v.End])
			out.WriteByte(',')
		}
	}
	return out.String()
}

// readPart decodes one part, which shares its memory. It reports false if it is not JSON.
func readPart(raw []byte) (transcript.Block, bool) {
	var d decoder
	d.Begin(raw)
	b, _ := d.part()
	return b, d.C.End() == nil
}
