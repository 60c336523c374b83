package relay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/sse"
)

// Responses is OpenAI Responses.
var Responses = &Wire{
	Stream: func(own func(string) bool) Stream { return &responsesStream{joined: joined{own: own}} },
	Join:   joinResponses,
	Whole: func(messages [][]byte) []byte {
		return slices.Concat([]byte(`{"output":`), arrayOf(messages), []byte("}"))
	},
	Refuse:  refuseResponses,
	TooLong: tooLongOpenAI("input"),
	failure: func(body []byte) []byte {
		const kind, open = "response.failed", `{"type":"response.failed","response":{"status":"failed","error":`
		return sse.AppendEvent(nil, kind, slices.Concat([]byte(open), get(body, "error"), []byte("}}")))
	},
	Ping: ": keep-alive\n\n",
}

// refuseResponses says that a request is at fault by the code which streams have for that: after
// others Codex tries again.
func refuseResponses(kind, text string) []byte {
	if kind == "invalid_request_error" {
		return refusalOpenAI(kind, "invalid_prompt", nil, text)
	}
	return refuseOpenAI(kind, text)
}

type responsesStream struct {
	joined
	done   [][]byte // complete items that the client got
	events int      // events that the client got
	// thought are the begins and ends of reasoning items that nothing has followed yet. The
	// provider refuses one without the item that followed it, so the client does not get what only
	// our calls follow; if it was told what the model thinks, that item never becomes complete.
	thought [][]byte
}

func (s *responsesStream) Event(raw, data []byte) ([]byte, bool) {
	if len(data) == 0 || data[0] != '{' { // a comment that keeps the connection open
		return raw, false
	}
	switch typ := text(get(data, "type")); typ {
	case "response.created", "response.in_progress", "response.queued":
		if s.answer > 0 {
			return nil, false
		}
		if s.id == nil {
			s.id = bytes.Clone(get(data, "response", "id"))
		}
	case "response.completed", "response.incomplete", "response.failed", "error":
		s.tokens = number(get(data, "response", "usage", "output_tokens"))
		s.hold(raw)
		return nil, true
	default:
		at := get(data, "output_index")
		if at == nil || !strings.HasPrefix(typ, "response.") {
			break
		}
		kind, name := "", ""
		if typ == "response.output_item.added" || typ == itemDone {
			kind, name = text(get(data, "item", "type")), text(get(data, "item", "name"))
		}
		_, known := s.parts[number(at)]
		call := kind == "function_call"
		var before []byte
		switch {
		case kind == "reasoning":
			s.thought = append(s.thought, bytes.Clone(raw))
			return nil, false
		case kind == "" && !known:
			before = s.think(false)
		case kind != "" && !(call && s.own(name)):
			before = s.think(true)
		}
		if s.number(number(at), call, name) < 0 {
			return before, false
		}
		return append(before, s.pass(raw, data)...), false
	}
	return s.pass(raw, data), false
}

const itemDone = "response.output_item.done"

// think returns the begins of reasoning items that were held back, and with done their ends.
func (s *responsesStream) think(done bool) (out []byte) {
	var held [][]byte
	for _, raw := range s.thought {
		data := sse.Data(raw)
		if !done && text(get(data, "type")) == itemDone {
			held = append(held, raw)
			continue
		}
		s.number(number(get(data, "output_index")), false, "")
		out = append(out, s.pass(raw, data)...)
	}
	s.thought = held
	return out
}

// pass returns an event as the client gets it.
func (s *responsesStream) pass(raw, data []byte) []byte {
	if text(get(data, "type")) == itemDone {
		s.done = append(s.done, bytes.Clone(get(data, "item")))
	}
	if !s.moved {
		s.events++
		return raw
	}
	if at := get(data, "output_index"); at != nil {
		if n, ok := s.parts[number(at)]; ok {
			data = set(data, digits(n), "output_index")
		}
	}
	return withData(raw, s.sequenced(data))
}

// Next also drops reasoning that only our calls followed.
func (s *responsesStream) Next() {
	s.thought = nil
	s.joined.Next()
}

// sequenced counts an event that the client gets, and numbers it.
func (s *responsesStream) sequenced(data []byte) []byte {
	s.events++
	if get(data, "sequence_number") == nil {
		return data
	}
	return set(data, digits(s.events-1), "sequence_number")
}

func (s *responsesStream) End() []byte {
	var thought []byte
	if !s.hid {
		thought = s.think(true)
	}
	return append(thought, s.release(func(data []byte) []byte {
		if !s.moved {
			return data
		}
		if get(data, "response") != nil {
			data = set(data, arrayOf(s.done), "response", "output")
		}
		if s.id != nil {
			data = set(data, s.id, "response", "id")
		}
		if s.answer > 0 && get(data, "response", "usage", "output_tokens") != nil {
			data = withUsage(data, "input_tokens", "output_tokens", s.output+s.tokens, "response", "usage")
		}
		return s.sequenced(data)
	})...)
}

// joinResponses makes one complete answer of several, without our calls.
func joinResponses(bodies [][]byte, own func(name string) bool) []byte {
	out, output := joinBlocks(bodies, "output", "function_call", own)
	if same(out, bodies[0]) || get(out, "usage", "output_tokens") == nil {
		return out
	}
	return withUsage(out, "input_tokens", "output_tokens", output, "usage")
}
