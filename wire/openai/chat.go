package openai

import (
	"cmp"
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
			s.Elements(builder{s}.chatMessage, func(int) {})
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

func (b builder) chatMessage(m object) {
	b.Clear()
	role, content := transcript.Role(b.Text(m.Get("role"))), m.Get("content")
	switch role {
	case transcript.RoleTool:
		b.Add(b.result(b.Text(m.Get("tool_call_id")), content, m.Value), wire.Place{Content: contentSpan(content)})
	case "function":
		role = transcript.RoleTool
		b.Add(b.result(olderID+b.Text(m.Get("name")), content, m.Value), wire.Place{Content: contentSpan(content)})
	case transcript.RoleAssistant:
		b.assistant(m)
	default:
		b.content(content)
	}
	if len(b.Blocks) == 0 && m.Kind != jsonspan.Object {
		b.Add(transcript.Opaque{Raw: b.Raw(m.Value)}, wire.Place{})
	}
	b.Message(role, transcript.FormatChat, m.Value)
}

// contentSpan is the place of content that text may replace.
func contentSpan(v value) jsonspan.Span {
	if v.IsString() || v.Kind == jsonspan.Array {
		return v.Span
	}
	return jsonspan.Span{}
}

func (b *builder) assistant(m object) {
	b.thinking(m)
	b.content(m.Get("content"))
	if refusal := m.Get("refusal"); refusal.IsString() {
		said := transcript.Text{Text: b.Content(refusal), Raw: b.Raw(refusal)}
		b.Add(said, wire.Place{Content: refusal.Span})
	}
	for _, c := range b.List(m.Get("tool_calls")) {
		b.toolCall(c)
	}
	if call := b.Object(m.Get("function_call")); call.Given() {
		id, input := olderID+b.Text(call.Get("name")), call.Get("arguments")
		b.Add(transcript.ToolCall{
			ID: id, Name: b.Text(call.Get("name")), Input: b.Content(input), Signed: true, Raw: b.Raw(call.Value),
		}, wire.Place{})
	}
}

// olderID begins the ids of calls of the form before tools, which have none: the function's name follows. The
// message of role function behind such a call is its result.
const olderID = "function_call_"

// chatThinking are the members that servers put thinking into, the text first.
var chatThinking = []string{"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"}

// thinking adds a message's thinking. Servers that sign it also take messages without; those that do not want
// it back with the calls of all turns.
func (b *builder) thinking(m object) {
	text, details := m.Get(chatThinking[0]), m.Get(chatThinking[2])
	if !text.IsString() {
		text = m.Get(chatThinking[1])
	}
	if details.Kind != jsonspan.Array {
		details = m.Get(chatThinking[3])
	}
	th := transcript.Thinking{Text: b.Content(text), Raw: b.Raw(text)}
	for _, d := range b.List(details) {
		th.Signature = cmp.Or(th.Signature, b.Text(d.Get("signature")), b.Text(d.Get("data")))
	}
	switch th.Stays = th.Signature == ""; {
	case text.IsString():
	case th.Stays:
		return
	default:
		th.Redacted, th.Raw = true, b.Raw(details)
	}
	b.Add(th, wire.Place{Members: chatThinking})
}

// inside returns what a call holds: name and arguments, or name and input.
func (s *scanner) inside(c object) (name, input value) {
	in := s.Object(c.Get("function"))
	if in.Kind != jsonspan.Object {
		in = s.Object(c.Get("custom"))
	}
	if input = in.Get("arguments"); !input.Given() {
		input = in.Get("input")
	}
	return in.Get("name"), input
}

func (b *builder) toolCall(c object) {
	name, input := b.inside(c)
	place := wire.Place{Whole: c.Span, List: listCalls}
	if !name.IsString() {
		b.Add(transcript.Opaque{Type: b.Text(c.Get("type")), Raw: b.Raw(c.Value)}, place)
		return
	}
	if input.IsString() {
		place.Content = input.Span
	}
	b.Add(transcript.ToolCall{
		ID: b.Text(c.Get("id")), Name: b.Text(name), Input: b.Content(input), Raw: b.Raw(c.Value),
		Signed: c.Get("extra_content").Given(), // Gemini's signature
	}, place)
}
