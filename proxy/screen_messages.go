package proxy

import (
	"bytes"
)

// messagesScreen is the [screen] of the Messages wire.
type messagesScreen struct {
	own    func(name string) bool
	blocks map[int]int // number of a block of this answer → number the client knows it by; negative: hidden
	count  int         // blocks that the client got
	moved  bool        // numbers differ from the provider's
	uses   int         // calls of this answer that the client got
	hid    bool        // calls of this answer are hidden
	answer int         // answers before this one

	usage  []byte   // of the answer's start
	output int      // tokens of the answers before
	tokens int      // of this answer
	held   [][]byte // the events that end the answer
}

func (s *messagesScreen) event(raw, data []byte) ([]byte, bool) {
	switch text(get(data, "type")) {
	case "message_start":
		s.usage = bytes.Clone(get(data, "message", "usage"))
		s.tokens = number(get(s.usage, "output_tokens"))
		if s.answer > 0 {
			return nil, false
		}
	case "content_block_start":
		return s.start(raw, data), false
	case "content_block_delta", "content_block_stop":
		n, known := s.blocks[number(get(data, "index"))]
		if !known {
			break
		}
		return s.numbered(raw, data, n), false
	case "message_delta":
		if n := get(data, "usage", "output_tokens"); n != nil {
			s.tokens = number(n)
		}
		s.held = append(s.held, bytes.Clone(raw))
		return nil, false
	case "message_stop", "error":
		s.held = append(s.held, bytes.Clone(raw))
		return nil, true
	}
	return raw, false
}

func (s *messagesScreen) start(raw, data []byte) []byte {
	if s.blocks == nil {
		s.blocks = make(map[int]int)
	}
	at := number(get(data, "index"))
	if text(get(data, "content_block", "type")) == "tool_use" {
		if s.own(text(get(data, "content_block", "name"))) {
			s.blocks[at], s.moved, s.hid = -1, true, true
			return nil
		}
		s.uses++
	}
	s.blocks[at] = s.count
	s.count++
	return s.numbered(raw, data, s.blocks[at])
}

// numbered is the event with the number that the client knows the block by.
func (s *messagesScreen) numbered(raw, data []byte, n int) []byte {
	switch {
	case n < 0:
		return nil
	case !s.moved:
		return raw
	}
	return withData(raw, set(data, digits(n), "index"))
}

func (s *messagesScreen) next() {
	s.answer++
	s.output += s.tokens
	s.blocks, s.moved, s.tokens, s.held, s.uses, s.hid = nil, true, 0, nil, 0, false
}

func (s *messagesScreen) begun() bool { return s.count > 0 || s.answer > 0 }

// end sends the usage of the last request with all output tokens: clients decide about
// their own compaction from it.
func (s *messagesScreen) end() []byte {
	var out []byte
	for _, raw := range s.held {
		data := dataOf(raw)
		if text(get(data, "type")) == "message_delta" {
			changed := data
			if s.answer > 0 {
				changed = joinedUsage(changed, s.usage, s.output+s.tokens)
			}
			if s.hid && s.uses == 0 { // nobody answers a call that the client does not see
				changed = set(changed, []byte(`"end_turn"`), "delta", "stop_reason")
			}
			if !same(changed, data) {
				raw = withData(raw, changed)
			}
		}
		out = append(out, raw...)
	}
	s.held = nil
	return out
}

// joinedUsage sets the usage of the message that ends a joined answer.
func joinedUsage(data, start []byte, output int) []byte {
	if get(data, "usage") == nil {
		data = set(data, []byte("{}"), "usage")
	}
	for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		if v := get(start, name); v != nil && get(data, "usage", name) == nil {
			data = set(data, v, "usage", name)
		}
	}
	return set(data, digits(output), "usage", "output_tokens")
}

// joinMessages makes one complete answer of several, without our calls.
func joinMessages(bodies [][]byte, own func(name string) bool) []byte {
	out, uses, output := joinBlocks(bodies, "content", "tool_use", own)
	if same(out, bodies[0]) {
		return out
	}
	if uses == 0 && text(get(out, "stop_reason")) == "tool_use" {
		out = set(out, []byte(`"end_turn"`), "stop_reason") // nobody answers a call that the client does not see
	}
	return set(out, digits(output), "usage", "output_tokens")
}

// joinBlocks is the last answer with what all of them have in a member, but our calls,
// and with the first one's id; the calls that are left in it, and the output tokens of
// all. It is the only answer itself if nothing is hidden in that.
func joinBlocks(bodies [][]byte, member, call string, own func(name string) bool) (out []byte, calls, output int) {
	var kept [][]byte
	hid := false
	for _, b := range bodies {
		for _, block := range elements(get(b, member)) {
			if text(get(block, "type")) == call {
				if own(text(get(block, "name"))) {
					hid = true
					continue
				}
				calls++
			}
			kept = append(kept, block)
		}
		output += number(get(b, "usage", "output_tokens"))
	}
	out = bodies[len(bodies)-1]
	if !hid && len(bodies) == 1 {
		return out, calls, output
	}
	out = set(out, arrayOf(kept), member)
	if id := get(bodies[0], "id"); id != nil {
		out = set(out, id, "id")
	}
	return out, calls, output
}
