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

// member reads a top-level member, or leaves it to the cursor, which passes over it.
func (d *decoder) member(name string) {
	r, start := d.req, d.C.Pos()
	switch name {
	case "contents":
		d.contents()
	case "systemInstruction":
		r.System, r.system = nil, jsonspan.Span{}
		if d.C.Kind() == jsonspan.Null {
			return
		}
		d.content()
		r.System = append(r.System, d.Blocks...)
		r.system = d.Since(start)
	case "tools":
		r.Tools, r.declarations = nil, jsonspan.Span{}
		for range d.C.Items {
			d.tool()
		}
	case "cachedContent":
		r.cached = d.C.Kind() == jsonspan.String && d.C.Skip().Len() > len(`""`)
	}
}

// tool reads an element of tools: lists of functions, or tools of the provider's own.
func (d *decoder) tool() {
	for name := range d.C.Fields {
		start := d.C.Pos()
		if camel(name) != "functionDeclarations" {
			d.req.Tools = append(d.req.Tools, model.Tool{Name: camel(name), Raw: d.Raw(d.C.Skip())})
			continue
		}
		isList := d.C.Kind() == jsonspan.Array
		for range d.C.Items {
			d.req.Tools = append(d.req.Tools, d.function())
		}
		if isList {
			d.req.declarations = d.Since(start)
		}
	}
}

func (d *decoder) function() model.Tool {
	var t model.Tool
	start := d.C.Pos()
	for name := range d.C.Fields {
		switch camel(name) {
		case "name":
			t.Name = d.Text(d.Str())
		case "description":
			t.Description = d.Text(d.Str())
		case "parameters", "parametersJsonSchema":
			t.Schema = d.Raw(d.C.Skip())
		}
	}
	t.Raw = d.Raw(d.Since(start))
	return t
}

func (d *decoder) contents() {
	d.Messages, d.Body.Elements, d.Body.Array = nil, nil, jsonspan.Span{}
	if d.C.Kind() == jsonspan.Array {
		d.Elements(d.message, func(int) {})
	}
}

func (d *decoder) message() {
	start := d.C.Pos()
	if role := d.content(); d.C.Err() == nil {
		d.Message(roleOf(role), transcript.FormatGemini, d.Since(start))
	}
}

// content consumes a content with its parts and returns its role.
func (d *decoder) content() (role string) {
	d.Clear()
	if d.C.Kind() != jsonspan.Object {
		d.Add(d.Opaque(), wire.Place{})
		return ""
	}
	for name := range d.C.Fields {
		switch name {
		case "role":
			role = d.Text(d.Str())
		case "parts":
			d.Clear()
			for range d.C.Items {
				d.Add(d.part())
			}
		}
	}
	return role
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
