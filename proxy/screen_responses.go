package proxy

import (
	"bytes"
	"strings"
)

// responsesScreen is the [screen] of the Responses wire.
type responsesScreen struct {
	own    func(name string) bool
	items  map[int]int // number of an item of this answer → number the client knows it by; negative: hidden
	done   [][]byte    // complete items that the client got
	count  int         // items that the client got
	events int         // events that the client got
	moved  bool        // numbers differ from the provider's
	answer int         // answers before this one
	id     []byte      // of the first answer

	output int // tokens of the answers before
	last   []byte
}

func (s *responsesScreen) event(raw, data []byte) ([]byte, bool) {
	switch typ := text(get(data, "type")); typ {
	case "response.created", "response.in_progress", "response.queued":
		if s.answer > 0 {
			return nil, false
		}
		if s.id == nil {
			s.id = bytes.Clone(get(data, "response", "id"))
		}
	case "response.completed", "response.incomplete", "response.failed", "error":
		s.last = bytes.Clone(raw)
		return nil, true
	default:
		at := get(data, "output_index")
		if at == nil || !strings.HasPrefix(typ, "response.") {
			break
		}
		n := s.number(typ, number(at), data)
		if n < 0 {
			return nil, false
		}
		if typ == "response.output_item.done" {
			s.done = append(s.done, bytes.Clone(get(data, "item")))
		}
		if s.moved {
			data = set(data, digits(n), "output_index")
		}
	}
	return s.passed(raw, data), false
}

// number is the one that the client knows an item by.
func (s *responsesScreen) number(typ string, at int, data []byte) int {
	if s.items == nil {
		s.items = make(map[int]int)
	}
	n, known := s.items[at]
	if known {
		return n
	}
	if typ == "response.output_item.added" || typ == "response.output_item.done" {
		if text(get(data, "item", "type")) == "function_call" && s.own(text(get(data, "item", "name"))) {
			s.items[at], s.moved = -1, true
			return -1
		}
	}
	s.items[at] = s.count
	s.count++
	return s.items[at]
}

// passed counts an event that the client gets.
func (s *responsesScreen) passed(raw, data []byte) []byte {
	n := s.events
	s.events++
	if !s.moved {
		return raw
	}
	if get(data, "sequence_number") != nil {
		data = set(data, digits(n), "sequence_number")
	}
	return withData(raw, data)
}

func (s *responsesScreen) next() {
	s.answer++
	s.output += number(get(dataOf(s.last), "response", "usage", "output_tokens"))
	s.items, s.moved, s.last = nil, true, nil
}

func (s *responsesScreen) begun() bool { return s.count > 0 || s.answer > 0 }

func (s *responsesScreen) end() []byte {
	if s.last == nil {
		return nil
	}
	raw, data := s.last, dataOf(s.last)
	s.last = nil
	if !s.moved {
		return raw
	}
	if get(data, "response") != nil {
		data = set(data, arrayOf(s.done), "response", "output")
	}
	if s.id != nil {
		data = set(data, s.id, "response", "id")
	}
	if s.answer > 0 && get(data, "response", "usage", "output_tokens") != nil {
		output := s.output + number(get(data, "response", "usage", "output_tokens"))
		data = set(data, digits(output), "response", "usage", "output_tokens")
		data = set(data, digits(number(get(data, "response", "usage", "input_tokens"))+output), "response", "usage", "total_tokens")
	}
	return s.passed(raw, data)
}

// joinResponses makes one complete answer of several, without our calls.
func joinResponses(bodies [][]byte, own func(name string) bool) []byte {
	out, _, output := joinBlocks(bodies, "output", "function_call", own)
	if same(out, bodies[0]) || get(out, "usage", "output_tokens") == nil {
		return out
	}
	out = set(out, digits(output), "usage", "output_tokens")
	return set(out, digits(number(get(out, "usage", "input_tokens"))+output), "usage", "total_tokens")
}
