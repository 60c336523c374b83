package openai

import (
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ResponsesRequest is a decoded Responses request. Each item of its input is a message.
type ResponsesRequest struct {
	Request
	System []transcript.Block // the instructions: none or one text block

	items    []itemNote
	isString bool // input is a string rather than items
	hasInput bool
}

// itemNote is what splicing and checking need to know about an item.
type itemNote struct {
	typ     string
	id      string
	form    form   // of what an edit puts into it
	outcome string // for formShellOutput
}

// DecodeResponses reads the body of POST /v1/responses. The request's messages share
// the body's memory, so it must not be changed afterwards.
//
// Input that is a string is one user message; a view with other messages beside it makes it a list. A request without input is refused unless it refers to history that the provider
// holds.
func DecodeResponses(body []byte) (*ResponsesRequest, error) { return DecodeResponsesAfter(nil, body) }

// DecodeResponsesAfter is [DecodeResponses] for a body that probably begins with the items of
// an earlier one: those that have the same bytes in the same place of the input are not
// decoded again. The earlier request may be nil; else the messages of the result share
// memory with it, and no longer with the body.
func DecodeResponsesAfter(earlier *ResponsesRequest, body []byte) (*ResponsesRequest, error) {
	r, s := &ResponsesRequest{}, scan(body)
	if earlier != nil {
		s.After(earlier.Messages, earlier.body)
	}
	err := r.decode(s, func(key string) bool {
		switch key {
		case "input":
			r.input(s, earlier)
		case "instructions":
			r.instructions(s)
		default:
			return false
		}
		return true
	})
	if err == nil && !r.hasInput && !r.Partial() && !r.p.template.Given() {
		err = errors.New("no input")
	}
	if err != nil {
		return nil, fmt.Errorf("decode responses request: %w", err)
	}
	return r, nil
}

// Partial reports whether the provider holds part of the conversation, where no view can
// reach it: the request names an earlier response or a conversation. Pass it on as it is.
func (r *ResponsesRequest) Partial() bool {
	return r.p.previous.Given() || r.p.conversation.Given()
}

// InputTools lists the tools that are defined in the input instead of in the list of tools,
// in additional_tools items, where newer clients put all of theirs. The tools of a namespace
// are listed one by one. Their tokens are counted with the items.
func (r *ResponsesRequest) InputTools() []model.Tool {
	var out []model.Tool
	for i, n := range r.items {
		if n.typ != typeAdditionalTools {
			continue
		}
		for _, t := range toolsIn(r.Messages[i].Raw()) {
			if in := toolsIn(t.Raw); len(in) > 0 { // a namespace
				out = append(out, in...)
			} else {
				out = append(out, t)
			}
		}
	}
	return out
}

const typeAdditionalTools = "additional_tools"

// toolsIn reads the definitions in an object's member tools.
func toolsIn(raw string) []model.Tool {
	s := scan(jsonspan.Value(raw).Get("tools"))
	return s.tools(s.Value())
}

func (r *ResponsesRequest) instructions(s *scanner) {
	v := s.Value()
	r.System = nil
	if v.IsString() {
		r.System = []transcript.Block{transcript.Text{Text: s.Content(v), Raw: s.Raw(v)}}
	}
}

func (r *ResponsesRequest) input(s *scanner, earlier *ResponsesRequest) {
	kind := s.C.Kind()
	r.items, r.isString = nil, kind == jsonspan.String
	r.hasInput = r.isString || kind == jsonspan.Array
	b := builder{s}
	if !r.isString {
		s.Elements(func(it object) { r.items = append(r.items, b.item(it)) }, func(i int) {
			r.items = append(r.items, earlier.items[i])
		})
		return
	}
	s.Messages, s.Body.Elements, s.Body.Array = nil, nil, jsonspan.Span{}
	s.Element(func(o object) {
		b.Clear()
		b.content(o.Value)
		b.Message(transcript.RoleUser, transcript.FormatResponses, o.Value)
	})
	r.items = []itemNote{{typ: "message"}}
}

// Earlier returns what [DecodeResponsesAfter] needs of the request, without its body.
func (r *ResponsesRequest) Earlier() *ResponsesRequest {
	return &ResponsesRequest{Request: r.after(), items: r.items}
}

// ItemHash returns a hash of an item that stays the same when the client sends the item
// again: cache markers and space do not count, and content that is a string counts as one
// part of type text. The item must be valid JSON; a string counts as the user message that
// it stands for.
func ItemHash(raw []byte) transcript.Hash {
	if len(raw) > 0 && raw[0] == '"' {
		raw = append(append([]byte(`{"role":"user","content":`), raw...), '}')
	}
	return wire.Hash(raw)
}
