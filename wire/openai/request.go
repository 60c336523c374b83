package openai

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Request is what decoded requests of both formats have in common. Changing its fields
// changes no bytes.
type Request struct {
	Model    string
	Tools    []model.Tool
	Messages []transcript.Message

	body wire.Body
	p    params
}

// after is what decoding a later request needs of this one.
func (r *Request) after() Request {
	return Request{Messages: r.Messages, body: r.body.Earlier()}
}

// Matches returns how many of the request's messages a body begins with, at the same places.
func (r *Request) Matches(body []byte) int { return r.body.Matches(r.Messages, body) }

// decode walks the top level of a body. The function member reads what the formats do not have in
// common and reports whether it did.
func (r *Request) decode(s *scanner, member func(key string) bool) error {
	at := ""
	for key := range s.C.Fields {
		if at = key; !member(key) {
			r.member(s, key)
		}
	}
	r.Messages, r.body = s.Messages, s.Body
	switch err := s.C.End(); {
	case err == nil:
		return nil
	case at == "messages" || at == "input":
		return fmt.Errorf("%s[%d]: %w", at, len(r.Messages), err)
	case at != "":
		return fmt.Errorf("%s: %w", at, err)
	default:
		return err
	}
}

// array walks the member that holds the messages, if it is a list.
func (s *scanner) array(read func(), same func(i int)) {
	s.Messages, s.Body.Elements, s.Body.Array = nil, nil, jsonspan.Span{}
	if s.C.Kind() == jsonspan.Array {
		s.Elements(read, same)
	}
}

// params are top-level members that are read or changed later.
type params struct {
	tools                                   value
	store, previous, conversation, template value
}

var paramNotes = []string{"store", "previous_response_id", "conversation", "prompt"}

// member reads a top-level member that both formats have, or passes over it.
func (r *Request) member(s *scanner, key string) {
	p := &r.p
	switch key {
	case "model":
		r.Model = s.text(s.value())
	case "tools":
		p.tools, r.Tools = s.tools(r.Tools[:0])
	default:
		s.note(key, paramNotes, &p.store, &p.previous, &p.conversation, &p.template)
	}
}

// tools passes over a list of tool definitions.
func (s *scanner) tools(list []model.Tool) (value, []model.Tool) {
	whole := s.items(func() { list = append(list, s.tool()) })
	return whole, list
}

// tool reads a definition of either format; the Chat one has its members one level deeper.
// A tool without a name, such as the provider's own web_search or shell, is named by its
// type.
func (s *scanner) tool() model.Tool {
	var t toolScan
	tool := model.Tool{Raw: s.raw(s.toolMembers(&t, true)), Description: s.text(t.description)}
	tool.Name = cmp.Or(s.text(t.name), s.text(t.label), s.text(t.typ))
	if t.schema.given() {
		tool.Schema = s.raw(t.schema)
	}
	return tool
}

type toolScan struct{ typ, name, description, schema, label value }

func (s *scanner) toolMembers(t *toolScan, outer bool) value {
	return s.fields(func(key string) {
		switch {
		case key == "type" && outer:
			t.typ = s.value()
		case (key == "function" || key == "custom") && outer:
			s.toolMembers(t, false)
		default:
			s.note(key, []string{"name", "description", "parameters", "server_label"},
				&t.name, &t.description, &t.schema, &t.label)
		}
	})
}

// moreTools is the edit that adds tools to the request's list, if it has one.
func (r *Request) moreTools(tools []model.Tool, encode func(*writer, model.Tool)) []jsonspan.Edit {
	if len(tools) == 0 || r.p.tools.kind != jsonspan.Array {
		return nil
	}
	var w writer
	for _, t := range tools {
		encode(&w, t)
	}
	return []jsonspan.Edit{wire.Insert(r.body.Data, r.p.tools.Span, w.b)}
}

// joined joins the elements that a message became, for a splice.
func joined(elements [][]byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, fmt.Errorf("message has nothing that the wire can carry: %w", transcript.ErrBadView)
	}
	return bytes.Join(elements, []byte{','}), nil
}
