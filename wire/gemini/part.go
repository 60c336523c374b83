package gemini

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// dataNames are the members that hold a part's data. A part has one of them.
var dataNames = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse",
	"executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

// part makes the block of a part. One without a member that its kind must have is opaque.
func (d *decoder) part(o wire.Object) (transcript.Block, wire.Place) {
	kind := ""
	for _, f := range o.Fields {
		if slices.Contains(dataNames, f.Name) {
			kind = f.Name
		}
	}
	raw, place := d.Raw(o.Value), wire.Place{Whole: o.Span, List: 1}
	text, data, signature := o.Get("text"), d.Object(o.Get(kind)), d.Text(o.Get("thoughtSignature"))
	name, bytes, uri, media := data.Get("name"), data.Get("data"), data.Get("fileUri"), d.Text(data.Get("mimeType"))
	switch {
	case kind == "text" && (!text.IsString() || text.Len() <= len(`""`)) && signature != "":
		// The end of a stream: a signature that belongs to no words.
		return transcript.Thinking{Signature: signature, Redacted: true, Raw: raw}, place
	case kind == "text" && text.IsString() && o.Get("thought").Kind == jsonspan.True:
		return transcript.Thinking{Text: d.Content(text), Signature: signature, Raw: raw}, place
	case kind == "text" && text.IsString():
		place.Content = text.Span
		if signature != "" { // it is for these words
			others := d.others(o.Span, "text", "thoughtSignature")
			place.Content, place.Around = o.Span, &wire.Around{Before: others + `"text":`, After: "}"}
		}
		return transcript.Text{Text: d.Content(text), Raw: raw}, place
	case kind == "functionCall" && name.IsString():
		args, signed := data.Get("args"), signature != "" && signature != unsigned
		if !args.Given() {
			args = wire.Value{}
		}
		if !signed { // it is for these arguments
			place.Content, place.JSON = args.Span, true
		}
		return transcript.ToolCall{
			ID: d.callID(data), Name: d.Text(name), Input: transcript.Plain(d.Raw(args)), Signed: signed, Raw: raw,
		}, place
	case kind == "functionResponse" && name.IsString():
		return d.result(data, raw, place)
	case kind == "inlineData" && bytes.IsString() && strings.HasPrefix(media, "image/"):
		return transcript.Image{MediaType: media, Data: d.Content(bytes), Raw: raw}, place
	case kind == "fileData" && uri.IsString() && strings.HasPrefix(media, "image/"):
		return transcript.Image{MediaType: media, URL: d.Text(uri), Raw: raw}, place
	}
	return transcript.Opaque{Type: kind, Raw: raw}, place
}

// callID is the call's id, or the function's name: without ids, the responses of an answer
// belong to its calls by name and order. Gemini CLI puts the name before the ids that it
// gets, and makes up ids for calls that came without; both are undone, so that a call is
// known by the id that the model gave it.
func (d *decoder) callID(function wire.Object) string {
	id, name := d.Text(function.Get("id")), d.Text(function.Get("name"))
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
func (d *decoder) result(function wire.Object, raw string, place wire.Place) (transcript.Block, wire.Place) {
	whole := d.Object(function.Get("response"))
	var only wire.Value
	name := "output"
	for _, f := range whole.Fields {
		if f.Name == "error" && f.Given() {
			name = "error"
		}
		if f.IsString() {
			only = f.Value
		}
	}
	var list []transcript.Block
	switch {
	case len(whole.Fields) == 1 && only.IsString():
		list = append(list, transcript.Text{Text: d.Content(only)})
		place.Content = only.Span
	case whole.Given():
		list = append(list, transcript.Text{Text: transcript.Plain(d.Raw(whole.Value))})
		place.Content, place.Around = whole.Span, &wire.Around{Before: `{"` + name + `":`, After: "}"}
	}
	parts := d.List(function.Get("parts"))
	for _, p := range parts {
		b, _ := d.part(p)
		list = append(list, b)
	}
	if len(parts) > 0 || !whole.Given() { // all of it goes when it is folded
		others := d.others(function.Span, "response", "parts")
		place.Content, place.Around = function.Span, &wire.Around{Before: others + `"response":{"` + name + `":`, After: "}}"}
	}
	return transcript.ToolResult{
		CallID: d.callID(function), Error: name == "error", Parts: transcript.BlocksOf(list...), Raw: raw,
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
	d := newDecoder(raw)
	b, _ := d.part(d.Object(d.Value()))
	return b, d.C.End() == nil
}
