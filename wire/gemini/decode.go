package gemini

import (
	"bytes"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// decoder walks a body once. Its scratch lists are used again for every message.
type decoder struct {
	data []byte
	c    jsonspan.Cursor
	req  *Request

	blocks []transcript.Block
	places []wire.Place

	blockSlab wire.Slab[transcript.Block]
	placeSlab wire.Slab[wire.Place]

	earlier *Request // see DecodeAfter
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
	r, start := d.req, d.c.Pos()
	switch name {
	case "contents":
		d.contents()
	case "systemInstruction":
		r.System, r.system = nil, jsonspan.Span{}
		if d.c.Kind() == jsonspan.Null {
			return
		}
		d.content()
		r.System = append(r.System, d.blocks...)
		r.system = jsonspan.Span{Start: start, End: d.c.Pos()}
	case "tools":
		r.Tools, r.declarations = nil, jsonspan.Span{}
		for range d.c.Items {
			d.tool()
		}
	case "cachedContent":
		r.cached = d.c.Kind() == jsonspan.String && d.c.Skip().Len() > len(`""`)
	case "generationConfig":
		r.MaxTokens = 0
		for name := range d.c.Fields {
			if camel(name) == "maxOutputTokens" {
				r.MaxTokens = jsonspan.Value(d.c.Skip().Of(d.data)).Int()
			}
		}
	}
}

// tool reads an element of tools: lists of functions, or tools of the provider's own.
func (d *decoder) tool() {
	for name := range d.c.Fields {
		start := d.c.Pos()
		if camel(name) != "functionDeclarations" {
			d.req.Tools = append(d.req.Tools, model.Tool{Name: camel(name), Raw: jsonspan.View(d.data, d.c.Skip())})
			continue
		}
		isList := d.c.Kind() == jsonspan.Array
		for range d.c.Items {
			d.req.Tools = append(d.req.Tools, d.function())
		}
		if isList {
			d.req.declarations = jsonspan.Span{Start: start, End: d.c.Pos()}
		}
	}
}

func (d *decoder) function() model.Tool {
	var t model.Tool
	start := d.c.Pos()
	for name := range d.c.Fields {
		switch camel(name) {
		case "name":
			t.Name = jsonspan.Text(d.data, d.str())
		case "description":
			t.Description = jsonspan.Text(d.data, d.str())
		case "parameters", "parametersJsonSchema":
			t.Schema = jsonspan.View(d.data, d.c.Skip())
		}
	}
	t.Raw = jsonspan.View(d.data, jsonspan.Span{Start: start, End: d.c.Pos()})
	return t
}

func (d *decoder) contents() {
	r, start := d.req, d.c.Pos()
	r.Messages, r.body.Elements, r.body.Array = nil, nil, jsonspan.Span{}
	if d.c.Kind() != jsonspan.Array {
		return
	}
	// One guess at their number saves most of the growing: a message of an agent's
	// conversation has a few kilobytes.
	n := min(len(d.data)/4096+8, 2048)
	r.Messages, r.body.Elements = make([]transcript.Message, 0, n), make([]wire.Element, 0, n)
	for range d.c.Items {
		if !d.again() {
			d.message()
		}
		if d.c.Err() != nil {
			return
		}
	}
	r.body.Array = jsonspan.Span{Start: start, End: d.c.Pos()}
}

// again takes the message at the cursor from the earlier request, if it is the same there.
func (d *decoder) again() bool {
	r, e, start := d.req, d.earlier, d.c.Pos()
	i := len(r.Messages)
	if e == nil || i >= len(e.Messages) || !d.c.SkipKnown(e.Messages[i].Raw()) {
		return false
	}
	r.Messages = append(r.Messages, e.Messages[i])
	r.body.Elements = append(r.body.Elements, wire.Element{Span: jsonspan.Span{Start: start, End: d.c.Pos()}, Places: e.body.Elements[i].Places})
	return true
}

// message consumes an element of contents. After an earlier request it reads a copy, which
// does not keep the body in memory.
func (d *decoder) message() {
	data, after, start := d.data, d.c, d.c.Pos()
	whole := jsonspan.Span{}
	if d.earlier != nil {
		if whole = d.c.Skip(); d.c.Err() != nil {
			return
		}
		after = d.c
		d.data = bytes.Clone(whole.Of(data))
		d.c.Reset(d.data, jsonspan.Limits{})
		start = 0
	}
	role := d.content()
	if d.c.Err() != nil {
		return
	}
	span := jsonspan.Span{Start: start, End: d.c.Pos()}
	element := wire.NewElement(span, d.placeSlab.Clone(d.places))
	m := transcript.WireMessage(roleOf(role), transcript.FormatGemini, jsonspan.View(d.data, span), d.blockSlab.Clone(d.blocks)...)
	if d.earlier != nil {
		d.data, d.c, element.Span = data, after, whole
	}
	d.req.Messages, d.req.body.Elements = append(d.req.Messages, m), append(d.req.body.Elements, element)
}

// content consumes a content, its parts into d.blocks and d.places, and returns its role.
func (d *decoder) content() (role string) {
	d.blocks, d.places = d.blocks[:0], d.places[:0]
	if d.c.Kind() != jsonspan.Object {
		d.blocks = append(d.blocks, transcript.Opaque{Raw: jsonspan.View(d.data, d.c.Skip())})
		d.places = append(d.places, wire.Place{})
		return ""
	}
	for name := range d.c.Fields {
		switch name {
		case "role":
			role = jsonspan.Text(d.data, d.str())
		case "parts":
			d.blocks, d.places = d.blocks[:0], d.places[:0]
			for range d.c.Items {
				b, p := d.part()
				d.blocks, d.places = append(d.blocks, b), append(d.places, p)
			}
		}
	}
	return role
}

// str consumes a value and returns its span if it is a string. A value of another kind is no
// reason to refuse the request.
func (d *decoder) str() jsonspan.Span {
	if d.c.Kind() == jsonspan.String {
		return d.c.Str()
	}
	d.c.Skip()
	return jsonspan.Span{}
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
