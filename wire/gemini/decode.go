package gemini

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

type decoder struct {
	wire.Walker
	req *Request
}

func newDecoder(data []byte) *decoder {
	d := &decoder{req: &Request{}}
	d.Name = camel
	d.Begin(data)
	return d
}

// camel returns the name that the format's documentation uses. The provider takes each
// member under two names: functionCall and function_call.
func camel(name string) string {
	if strings.IndexByte(name, '_') < 0 {
		return name
	}
	var b strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

func (d *decoder) member(name string) {
	r := d.req
	if name = camel(name); name == "contents" {
		d.Elements(func(o wire.Object) {
			role := d.content(o)
			d.Message(roleOf(role), transcript.FormatGemini, o.Value)
		}, func(int) {})
		return
	}
	switch v := d.Value(); name {
	case "systemInstruction":
		if r.System = nil; v.Given() {
			d.content(d.Object(v))
			r.System = append(r.System, d.Blocks...)
		}
	case "tools":
		r.Tools, r.declarations = nil, jsonspan.Span{}
		for _, o := range d.List(v) {
			d.tool(o)
		}
	case "cachedContent":
		r.cached = v.IsString() && v.Len() > len(`""`)
	}
}

// tool reads an element of tools: lists of functions, or tools of the provider's own.
func (d *decoder) tool(o wire.Object) {
	for _, f := range o.Fields {
		if f.Name != "functionDeclarations" {
			d.req.Tools = append(d.req.Tools, model.Tool{Name: f.Name, Raw: d.Raw(f.Value)})
			continue
		}
		for _, fn := range d.List(f.Value) {
			schema := fn.Get("parameters")
			if !schema.Given() {
				schema = fn.Get("parametersJsonSchema")
			}
			d.req.Tools = append(d.req.Tools, model.Tool{
				Name: d.Text(fn.Get("name")), Description: d.Text(fn.Get("description")), Schema: d.Raw(schema),
				Raw: d.Raw(fn.Value),
			})
		}
		if f.Kind == jsonspan.Array {
			d.req.declarations = f.Span
		}
	}
}

// content reads a content with its parts and returns its role.
func (d *decoder) content(o wire.Object) (role string) {
	d.Clear()
	if o.Kind != jsonspan.Object {
		d.Add(transcript.Opaque{Raw: d.Raw(o.Value)}, wire.Place{})
	}
	for _, p := range d.List(o.Get("parts")) {
		d.Add(d.part(p))
	}
	return d.Text(o.Get("role"))
}

// roleOf returns the role. A content without one is the user's; function is an older name
// for who sends responses.
func roleOf(s string) transcript.Role {
	switch s {
	case "user", "":
		return transcript.RoleUser
	case "model":
		return transcript.RoleAssistant
	case "function":
		return transcript.RoleTool
	}
	return transcript.Role(s)
}
