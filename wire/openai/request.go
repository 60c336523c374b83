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

// decode walks a body. The function member reads what the formats do not have in common and reports
// whether it did.
func (r *Request) decode(s *scanner, member func(key string) bool) error {
	err := s.Walk(func(key string) {
		if !member(key) {
			r.member(s, key)
		}
	})
	r.Messages, r.body = s.Messages, s.Body
	return err
}

// params are top-level members that are read or changed later.
type params struct {
	tools                                   value
	store, previous, conversation, template value
}

// member reads a top-level member that both formats have, or passes over it.
func (r *Request) member(s *scanner, key string) {
	p, v := &r.p, s.Value()
	switch key {
	case "model":
		r.Model = s.Text(v)
	case "tools":
		p.tools, r.Tools = v, s.tools(v)
	case "store":
		p.store = v
	case "previous_response_id":
		p.previous = v
	case "conversation":
		p.conversation = v
	case "prompt":
		p.template = v
	}
}

// tools reads a list of tool definitions of either format; the Chat one has its members one level
// deeper. A tool without a name, such as the provider's own web_search or shell, is named by its
// type.
func (s *scanner) tools(v value) (list []model.Tool) {
	for _, t := range s.List(v) {
		in := t
		for _, kind := range []string{"function", "custom"} {
			if o := s.Object(t.Get(kind)); o.Kind == jsonspan.Object {
				in = o
			}
		}
		tool := model.Tool{Raw: s.Raw(t.Value), Description: s.Text(in.Get("description"))}
		tool.Name = cmp.Or(s.Text(in.Get("name")), s.Text(t.Get("server_label")), s.Text(t.Get("type")))
		if schema := in.Get("parameters"); schema.Given() {
			tool.Schema = s.Raw(schema)
		}
		list = append(list, tool)
	}
	return list
}

// moreTools is the edit that adds tools to the request's list, if it has one.
func (r *Request) moreTools(tools []model.Tool, encode func(*writer, model.Tool)) []jsonspan.Edit {
	if len(tools) == 0 || r.p.tools.Kind != jsonspan.Array {
		return nil
	}
	var w writer
	for _, t := range tools {
		encode(&w, t)
	}
	return []jsonspan.Edit{wire.Insert(r.body.Data, r.p.tools.Span, w.b)}
}

// joined joins the elements that a message became, for a splice.
func joined(elements [][]byte) ([]byte, error) {
	if len(elements) == 0 {
		return nil, fmt.Errorf("message has nothing that the wire can carry: %w", transcript.ErrBadView)
	}
	return bytes.Join(elements, []byte{','}), nil
}
