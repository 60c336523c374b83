package openai

import (
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ChatRequest is a decoded Chat Completions request. System and developer messages are
// messages like all others and keep their places.
type ChatRequest struct {
	Request
}

// DecodeChat reads the body of POST /v1/chat/completions. The request's messages share
// the body's memory, so it must not be changed afterwards.
//
// It refuses what is not JSON and what has no messages array. Requests that the provider
// would refuse for other reasons are decoded: see [ChatRequest.Check].
func DecodeChat(body []byte) (*ChatRequest, error) { return DecodeChatAfter(nil, body) }

// DecodeChatAfter is [DecodeChat] for a body that probably begins with the messages of an
// earlier one: those that have the same bytes in the same place of the array are not decoded
// again. The earlier request may be nil; else the messages of the result share memory
// with it, and no longer with the body.
func DecodeChatAfter(earlier *ChatRequest, body []byte) (*ChatRequest, error) {
	r, s := &ChatRequest{}, scan(body)
	if earlier != nil {
		s.After(earlier.Messages, earlier.body)
	}
	err := r.decode(s, func(key string) bool {
		if key == "messages" {
			s.chatMessages()
		}
		return key == "messages"
	})
	if err == nil && r.body.Array.IsZero() {
		err = errors.New("no messages array")
	}
	if err != nil {
		return nil, fmt.Errorf("decode chat request: %w", err)
	}
	return r, nil
}

func (s *scanner) chatMessages() {
	b := builder{s}
	var m chatMessage
	s.array(func() {
		if s.chatMessage(&m); s.C.Err() == nil {
			b.chatMessage(&m)
		}
	}, func(int) {})
}

// Splice returns the body with the view's messages in place of its own: the sources of
// the view are indices into Messages. Everything that the view does not change stays
// byte for byte; the whole view returns the body itself. Messages that the view adds are
// encoded as by [EncodeChatMessage], and system messages that are neighbours only in the view become one.
//
// The tools are added after the request's own. A request without a list of tools gets none.
func (r *ChatRequest) Splice(v transcript.View, tools ...model.Tool) ([]byte, error) {
	made := func(m transcript.Message) ([]byte, error) { return joined(EncodeChatMessage(m)) }
	v.Messages = r.oneSystem(v.Messages)
	out, err := r.body.Splice(v, wire.Made{Encode: made}, r.moreTools(tools, (*writer).chatTool)...)
	if err != nil {
		return nil, fmt.Errorf("splice chat request: %w", err)
	}
	return out, nil
}

// Earlier returns what [DecodeChatAfter] needs of the request, without its body.
func (r *ChatRequest) Earlier() *ChatRequest { return &ChatRequest{r.after()} }

// ChatMessageHash returns a hash of an element of a messages array that stays the same when
// the client sends the message again: cache markers and space do not count, and content that
// is a string counts as one text part. The element must be valid JSON.
func ChatMessageHash(raw []byte) transcript.Hash { return wire.Hash(raw) }

// chatMessage is what the scanner notes about a message.
type chatMessage struct {
	whole, role, content                value
	refusal, thinking, thought, audio   value
	toolCalls, toolCallID, functionCall value
	parts                               []part
	calls                               []toolCall
}

// toolCall is what it notes about an element of tool_calls.
type toolCall struct {
	whole, id, typ   value
	index            value // only in streams
	function, custom value
	name, input      value // of whichever of the two is there
}

var messageNotes = []string{
	"role", "refusal", "reasoning_content", "reasoning", "audio", "tool_call_id", "function_call",
}

func (s *scanner) chatMessage(m *chatMessage) {
	*m = chatMessage{parts: m.parts[:0], calls: m.calls[:0]}
	m.whole = s.fields(func(key string) {
		switch key {
		case "content":
			m.content, m.parts = s.parts(m.parts[:0])
		case "tool_calls":
			m.calls = m.calls[:0]
			m.toolCalls = s.items(func() { m.calls = append(m.calls, s.toolCall()) })
		default:
			s.note(
				key, messageNotes,
				&m.role, &m.refusal, &m.thinking, &m.thought, &m.audio, &m.toolCallID, &m.functionCall,
			)
		}
	})
}

func (s *scanner) toolCall() toolCall {
	var t toolCall
	t.whole = s.fields(func(key string) {
		switch key {
		case "function":
			t.function = s.function(&t)
		case "custom":
			t.custom = s.function(&t)
		default:
			s.note(key, []string{"id", "type", "index"}, &t.id, &t.typ, &t.index)
		}
	})
	return t
}

// function reads what a call holds: name and arguments, or name and input.
func (s *scanner) function(t *toolCall) value {
	return s.fields(func(key string) {
		s.note(key, []string{"name", "arguments", "input"}, &t.name, &t.input, &t.input)
	})
}

func (b *builder) chatMessage(m *chatMessage) {
	b.Clear()
	role := transcript.Role(b.text(m.role))
	switch role {
	case transcript.RoleTool:
		b.Add(b.result(b.text(m.toolCallID), m.content, m.parts, m.whole), wire.Place{Content: contentSpan(m.content)})
	case transcript.RoleAssistant:
		b.assistant(m)
	default:
		b.content(m.content, m.parts)
	}
	if len(b.Blocks) == 0 && m.whole.kind != jsonspan.Object {
		b.Add(transcript.Opaque{Raw: b.raw(m.whole)}, wire.Place{})
	}
	b.Message(role, transcript.FormatChat, m.whole.Span)
}

// contentSpan is the place of content that text may replace.
func contentSpan(v value) jsonspan.Span {
	if v.isString() || v.kind == jsonspan.Array {
		return v.Span
	}
	return jsonspan.Span{}
}

func (b *builder) assistant(m *chatMessage) {
	thinking := m.thinking
	if !thinking.isString() {
		thinking = m.thought
	}
	if thinking.isString() {
		b.Add(transcript.Thinking{Text: b.scanner.content(thinking), Raw: b.raw(thinking)}, wire.Place{})
	}
	b.content(m.content, m.parts)
	if m.refusal.isString() {
		said := transcript.Text{Text: b.scanner.content(m.refusal), Raw: b.raw(m.refusal)}
		b.Add(said, wire.Place{Content: m.refusal.Span})
	}
	for i := range m.calls {
		b.toolCall(&m.calls[i])
	}
	if m.functionCall.given() { // the form before tools
		b.Add(transcript.Opaque{Type: "function_call", Raw: b.raw(m.functionCall)}, wire.Place{})
	}
}

func (b *builder) toolCall(t *toolCall) {
	place := stringPlace(t.input)
	place.Whole, place.List = t.whole.Span, listCalls
	if !t.name.isString() {
		place.Content = jsonspan.Span{}
		b.Add(transcript.Opaque{Type: b.text(t.typ), Raw: b.raw(t.whole)}, place)
		return
	}
	b.Add(transcript.ToolCall{
		ID: b.text(t.id), Name: b.text(t.name), Input: b.scanner.content(t.input), Raw: b.raw(t.whole),
	}, place)
}

// stringPlace is the place of a value that may be edited if it is a string.
func stringPlace(v value) wire.Place {
	if !v.isString() {
		return wire.Place{}
	}
	return wire.Place{Content: v.Span}
}
