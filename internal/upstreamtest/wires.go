package upstreamtest

import (
	"encoding/json"
	"net/http"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// wire is one of the formats.
type wire struct {
	*relay.Wire // how the provider refuses
	name        string
	prefix      string // of reply ids

	decode func(body []byte, m model.Model) (*request, error)
	whole  func(a answer) any
	stream func(out *stream, a answer, r *request)
}

type object = map[string]any

var (
	messages  = wire{relay.Messages, "messages", "msg_", decodeMessages, wholeMessage, streamMessage}
	chat      = wire{relay.Chat, "chat", "chatcmpl-", decodeChat, wholeChat, streamChat}
	responses = wire{relay.Responses, "responses", "resp_", decodeResponses, wholeResponse, streamResponse}
)

// stream writes server-sent events and flushes each.
type stream struct {
	w http.ResponseWriter
	n int // events that were numbered
}

// event sends an object that has its type in it.
func (s *stream) event(typ string, v object) {
	v["type"] = typ
	s.send(typ, v)
}

func streamTo(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return &stream{w: w}
}

func (s *stream) send(typ string, v any) {
	data, ok := v.(string)
	if !ok {
		b, _ := json.Marshal(v)
		data = string(b)
	}
	s.write(sse.AppendEvent(nil, typ, []byte(data)))
}

func (s *stream) write(event []byte) {
	_, _ = s.w.Write(event) // the client is gone: nobody is left to tell
	_ = http.NewResponseController(s.w).Flush()
}

func texts(vs []transcript.Violation) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Rule+" at "+v.String())
	}
	return out
}

func output(a answer) int {
	n := len(a.text) + len(a.thinking)
	for _, c := range a.calls {
		n += len(c.input)
	}
	return n/4 + 1
}

func decodeMessages(body []byte, m model.Model) (*request, error) {
	r, err := anthropic.Decode(body)
	if err != nil {
		return nil, err
	}
	mode := r.ThinkingMode()
	return &request{
		model: r.Model, stream: streams(body), tools: r.Tools, messages: r.Messages,
		thinks: mode != "" && mode != "disabled",
		body:   string(body), violations: append(texts(r.Check(m)), split(r.Messages)...),
	}, nil
}

// stop is why an answer ends, in the words of a wire.
func (a answer) stop(calls, end string) string {
	if len(a.calls) > 0 {
		return calls
	}
	return end
}

func messageBlocks(a answer) []object {
	var out []object
	if a.thinking != "" {
		out = append(out, object{"type": "thinking", "thinking": a.thinking, "signature": a.signature})
	}
	if a.text != "" {
		out = append(out, object{"type": "text", "text": a.text})
	}
	for _, c := range a.calls {
		out = append(out, object{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.input)})
	}
	return out
}

func messageUsage(a answer, out int) object {
	return object{
		"input_tokens": a.input, "cache_creation_input_tokens": a.written, "cache_read_input_tokens": a.read,
		"output_tokens": out,
	}
}

func wholeMessage(a answer) any {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": messageBlocks(a),
		"stop_reason": a.stop("tool_use", "end_turn"), "stop_sequence": nil, "usage": messageUsage(a, output(a)),
	}
}

func streamMessage(s *stream, a answer, _ *request) {
	s.event("message_start", object{"message": object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messageUsage(a, 1),
	}})
	s.event("ping", object{})
	for i, b := range messageBlocks(a) {
		delta := object{}
		switch b["type"] {
		case "thinking", "text":
			name := b["type"].(string)
			delta = object{"type": name + "_delta", name: b[name]}
			b[name] = ""
		case "tool_use":
			delta = object{"type": "input_json_delta", "partial_json": string(b["input"].(json.RawMessage))}
			b["input"] = object{}
		}
		signature := b["signature"]
		if signature != nil {
			b["signature"] = ""
		}
		s.event("content_block_start", object{"index": i, "content_block": b})
		s.event("content_block_delta", object{"index": i, "delta": delta})
		if signature != nil {
			delta := object{"type": "signature_delta", "signature": signature}
			s.event("content_block_delta", object{"index": i, "delta": delta})
		}
		s.event("content_block_stop", object{"index": i})
	}
	s.event("message_delta", object{
		"delta": object{"stop_reason": a.stop("tool_use", "end_turn"), "stop_sequence": nil}, "usage": messageUsage(a, output(a)),
	})
	s.event("message_stop", object{})
}

// streams reports whether a request asks for a stream.
func streams(body []byte) bool { return jsonspan.Value(body).Get("stream").Kind() == jsonspan.True }

func decodeChat(body []byte, m model.Model) (*request, error) {
	r, err := openai.DecodeChat(body)
	if err != nil {
		return nil, err
	}
	return &request{
		model: r.Model, stream: streams(body), tools: r.Tools, messages: r.Messages,
		usage: jsonspan.Value(body).Get("stream_options", "include_usage").Kind() == jsonspan.True,
		body:  string(body), violations: texts(r.Check(m)),
	}, nil
}
