package relay

import (
	"bytes"
	"fmt"

	"github.com/pleat-dev/pleat/internal/sse"
)

// Messages is Anthropic Messages.
var Messages = &Wire{
	Stream: func(own func(string) bool) Stream { return &messagesStream{joined: joined{own: own}} },
	Join:   joinMessages,
	Whole:  func(messages [][]byte) []byte { return messages[0] },
	Refuse: refuseMessages,
	TooLong: func(tokens, limit int) []byte {
		text := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, limit)
		return refuseMessages("invalid_request_error", text)
	},
	failure: func(body []byte) []byte { return sse.AppendEvent(nil, "error", body) },
	Ping:    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
}

func refuseMessages(kind, text string) []byte {
	return encoded(object{"type": "error", "error": object{"type": kind, "message": text}})
}

type messagesStream struct {
	joined
	usage []byte // of the answer's start
}

func (s *messagesStream) Event(raw, data []byte) ([]byte, bool) {
	at := number(get(data, "index"))
	switch text(get(data, "type")) {
	case "message_start":
		s.usage = bytes.Clone(get(data, "message", "usage"))
		s.tokens = number(get(s.usage, "output_tokens"))
		if s.answer > 0 {
			return nil, false
		}
	case "content_block_start":
		kind := text(get(data, "content_block", "type"))
		n := s.number(at, kind == "tool_use", text(get(data, "content_block", "name")))
		if n >= 0 {
			s.says = !isThinking(kind) // which may not end a message
		}
		return s.numbered(raw, data, n), false
	case "content_block_delta", "content_block_stop":
		if n, known := s.parts[at]; known {
			return s.numbered(raw, data, n), false
		}
	case "message_delta":
		if n := get(data, "usage", "output_tokens"); n != nil {
			s.tokens = number(n)
		}
		s.hold(raw)
		return nil, false
	case "message_stop", "error":
		s.hold(raw)
		return nil, true
	}
	return raw, false
}

// numbered is the event with the number that the client knows the block by.
func (s *messagesStream) numbered(raw, data []byte, n int) []byte {
	switch {
	case n < 0:
		return nil
	case !s.moved:
		return raw
	}
	return withData(raw, set(data, digits(n), "index"))
}

// End sends the usage of the last request with all output tokens: clients decide about
// their own compaction from it.
func (s *messagesStream) End() []byte {
	var said []byte
	out := s.release(func(data []byte) []byte {
		if text(get(data, "type")) != "message_delta" {
			return data
		}
		if said == nil && s.unanswerable() && !s.says {
			said = s.cutOff()
		}
		if s.answer > 0 {
			data = s.joinedUsage(data)
		}
		return data
	})
	return append(said, out...)
}

// isThinking reports whether a block may not be the last of a message.
func isThinking(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// cutOff are the events of one more block.
func (s *messagesStream) cutOff() (out []byte) {
	for _, e := range [][2]string{
		{"content_block_start", `,"content_block":{"type":"text","text":""}`},
		{"content_block_delta", `,"delta":{"type":"text_delta","text":"` + cutOff + `"}`},
		{"content_block_stop", ""},
	} {
		out = sse.AppendEvent(out, e[0], fmt.Appendf(nil, `{"type":%q,"index":%d%s}`, e[0], s.count, e[1]))
	}
	return out
}

func (s *messagesStream) joinedUsage(data []byte) []byte {
	if get(data, "usage") == nil {
		data = set(data, []byte("{}"), "usage")
	}
	for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		if v := get(s.usage, name); v != nil && get(data, "usage", name) == nil {
			data = set(data, v, "usage", name)
		}
	}
	return set(data, digits(s.output+s.tokens), "usage", "output_tokens")
}

// joinMessages makes one complete answer of several, without our calls.
func joinMessages(bodies [][]byte, own func(name string) bool) []byte {
	out, output := joinBlocks(bodies, "content", "tool_use", own)
	if same(out, bodies[0]) {
		return out
	}
	return set(out, digits(output), "usage", "output_tokens")
}
