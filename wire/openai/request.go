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
	Model     string
	Stream    bool
	MaxTokens int // the limit of the answer; 0: none was given
	Tools     []model.Tool
	Messages  []transcript.Message

	body wire.Body
	p    params
	at   string // the top-level member that is being read

	earlier *Request // while it is decoded: see DecodeChatAfter
}

// again takes the message at the cursor from the earlier request, if it is the same there.
func (r *Request) again(s *scanner) bool {
	i, e, start := len(r.Messages), r.earlier, s.c.Pos()
	if e == nil || i >= len(e.Messages) || !s.c.SkipKnown(e.Messages[i].Raw()) {
		return false
	}
	r.add(e.Messages[i], wire.Element{Span: jsonspan.Span{Start: start, End: s.c.Pos()}, Places: e.body.Elements[i].Places})
	return true
}

// read runs scan on the message at the cursor, which makes a message of it and adds it. After
// an earlier request it runs on a copy, which does not keep the body in memory.
func (r *Request) read(s *scanner, scan func()) {
	if r.earlier == nil {
		scan()
		return
	}
	n := len(r.body.Elements)
	if whole, ok := s.own(scan); ok && len(r.body.Elements) > n {
		r.body.Elements[n].Span = whole
	}
}

func (r *Request) add(m transcript.Message, e wire.Element) {
	r.Messages = append(r.Messages, m)
	r.body.Elements = append(r.body.Elements, e)
}

// after is what decoding a later request needs of this one.
func (r *Request) after() Request {
	return Request{Messages: r.Messages, body: wire.Body{Elements: r.body.Elements}}
}

// Matches returns how many of the request's messages a body begins with, at the same places.
func (r *Request) Matches(body []byte) int { return r.body.Matches(r.Messages, body) }

// Body returns the bytes that were decoded.
func (r *Request) Body() []byte { return r.body.Data }

// broken says where in the request an error is.
func (r *Request) broken(format string, err error) error {
	switch r.at {
	case "":
		return fmt.Errorf("decode %s request: %w", format, err)
	case "messages", "input":
		return fmt.Errorf("decode %s request: %s[%d]: %w", format, r.at, len(r.Messages), err)
	}
	return fmt.Errorf("decode %s request: %s: %w", format, r.at, err)
}

// sized returns empty lists with room for about as many messages as the rest of the body
// may hold.
func (r *Request) sized(s *scanner) ([]transcript.Message, []wire.Element) {
	const typical = 4 << 10 // bytes of a message in a long conversation
	n := min(4+(len(s.data)-s.c.Pos())/typical, 4<<10)
	if r.earlier != nil {
		n = len(r.earlier.Messages) + 8
	}
	return make([]transcript.Message, 0, n), make([]wire.Element, 0, n)
}

// params are top-level members that are read or changed later.
type params struct {
	tools, cacheMode                        value // cacheMode is in prompt_cache_options
	maxTokens, maxCompletion, maxOutput     value
	store, previous, conversation, template value
}

var paramNotes = []string{
	"max_tokens", "max_completion_tokens", "max_output_tokens", "store", "previous_response_id", "conversation", "prompt",
}

// member reads a top-level member that both formats have, or passes over it.
func (r *Request) member(s *scanner, key string) {
	p := &r.p
	switch key {
	case "model":
		r.Model = s.text(s.value())
	case "stream":
		r.Stream = s.value().kind == jsonspan.True
	case "tools":
		p.tools, r.Tools = s.tools(r.Tools[:0])
	case "functions":
		_, r.Tools = s.tools(r.Tools[:0])
	case "prompt_cache_options":
		p.cacheMode = value{}
		s.inside(&p.cacheMode, "mode")
	default:
		s.note(key, paramNotes, &p.maxTokens, &p.maxCompletion, &p.maxOutput, &p.store, &p.previous, &p.conversation, &p.template)
	}
}

// tools passes over a list of tool definitions.
func (s *scanner) tools(list []model.Tool) (value, []model.Tool) {
	start, kind := s.c.Pos(), s.c.Kind()
	for range s.c.Items {
		list = append(list, s.tool())
	}
	return s.since(start, kind), list
}

// tool reads a definition of either format; the Chat one has its members one level deeper.
// A tool without a name, such as the provider's own web_search or shell, is named by its
// type.
func (s *scanner) tool() model.Tool {
	var t toolScan
	start, kind := s.c.Pos(), s.c.Kind()
	s.toolMembers(&t, true)
	tool := model.Tool{
		Name:        s.text(t.name),
		Description: s.text(t.description),
		Raw:         s.raw(s.since(start, kind)),
	}
	if t.schema.given() {
		tool.Schema = s.raw(t.schema)
	}
	tool.Name = cmp.Or(tool.Name, s.text(t.label), s.text(t.typ))
	return tool
}

type toolScan struct{ typ, name, description, schema, label value }

func (s *scanner) toolMembers(t *toolScan, outer bool) {
	for key := range s.c.Fields {
		switch {
		case key == "type" && outer:
			t.typ = s.value()
		case (key == "function" || key == "custom") && outer:
			s.toolMembers(t, false)
		default:
			s.note(key, []string{"name", "description", "parameters", "server_label"}, &t.name, &t.description, &t.schema, &t.label)
		}
	}
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
