package proxy

import (
	"bytes"
)

// chatScreen is the [screen] of the Chat Completions wire.
type chatScreen struct {
	own    func(name string) bool
	calls  map[int]int // number of a call of this answer → number the client knows it by; negative: hidden
	count  int         // calls that the client got
	moved  bool        // numbers differ from the provider's
	answer int         // answers before this one
	id     []byte      // of the first answer
	any    bool        // content went to the client

	output int // tokens of the answers before
	tokens int // of this one
	held   [][]byte
}

func (s *chatScreen) event(raw, data []byte) ([]byte, bool) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
		s.held = append(s.held, bytes.Clone(raw))
		return nil, true
	}
	if len(data) == 0 || data[0] != '{' {
		return raw, false
	}
	if e := get(data, "error"); e != nil && e[0] == '{' {
		s.held = append(s.held, bytes.Clone(raw))
		return nil, true
	}
	if u := get(data, "usage", "completion_tokens"); u != nil {
		s.tokens = number(u)
	}
	changed := s.joined(data)
	changed, empty := s.screened(changed)
	finish := get(changed, "choices", 0, "finish_reason")
	if !same(changed, data) {
		raw = withData(raw, changed)
	}
	ends := finish != nil && finish[0] == '"' || len(elements(get(changed, "choices"))) == 0 || len(s.held) > 0
	switch {
	case ends:
		s.held = append(s.held, bytes.Clone(raw))
		return nil, false
	case empty:
		return nil, false
	}
	if c := get(changed, "choices", 0, "delta", "content"); len(c) > 2 && c[0] == '"' || s.count > 0 {
		s.any = true
	}
	return raw, false
}

// joined makes a chunk of a later answer go on with the first.
func (s *chatScreen) joined(data []byte) []byte {
	if s.answer == 0 {
		if s.id == nil {
			s.id = bytes.Clone(get(data, "id"))
		}
		return data
	}
	if s.id != nil && get(data, "id") != nil {
		data = set(data, s.id, "id")
	}
	if get(data, "choices", 0, "delta", "role") != nil {
		data = without(data, "role", "choices", 0, "delta")
	}
	return data
}

// screened takes our calls out of a chunk. empty reports that nothing else was in it.
func (s *chatScreen) screened(data []byte) (out []byte, empty bool) {
	list := elements(get(data, "choices", 0, "delta", "tool_calls"))
	if len(list) == 0 {
		return data, false
	}
	if s.calls == nil {
		s.calls = make(map[int]int)
	}
	var kept [][]byte
	changed := false
	for _, call := range list {
		at := number(get(call, "index"))
		n, known := s.calls[at]
		if !known {
			n = s.number(at, text(get(call, "function", "name")))
			s.calls[at] = n
		}
		if n < 0 {
			changed = true
			continue
		}
		if n != at {
			call, changed = set(call, digits(n), "index"), true
		}
		kept = append(kept, call)
	}
	if !changed {
		return data, false
	}
	if len(kept) > 0 {
		return set(data, arrayOf(kept), "choices", 0, "delta", "tool_calls"), false
	}
	out = without(data, "tool_calls", "choices", 0, "delta")
	content := get(out, "choices", 0, "delta", "content")
	return out, get(out, "choices", 0, "delta", "role") == nil && (content == nil || content[0] == 'n')
}

// number is the one that the client gets to know a call by: the provider's own, as long as
// nothing was hidden.
func (s *chatScreen) number(at int, name string) int {
	if s.own(name) {
		s.moved = true
		return -1
	}
	n := s.count
	if !s.moved {
		n = at
	}
	s.count = max(s.count, n+1)
	return n
}

func (s *chatScreen) next() {
	s.answer++
	s.output += s.tokens
	s.calls, s.moved, s.tokens, s.held = nil, true, 0, nil
}

func (s *chatScreen) begun() bool { return s.any || s.answer > 0 }

func (s *chatScreen) end() []byte {
	var out []byte
	hid, uses := false, false
	for _, n := range s.calls {
		hid, uses = hid || n < 0, uses || n >= 0
	}
	for _, raw := range s.held {
		data := dataOf(raw)
		changed := data
		if s.answer > 0 && get(data, "usage", "completion_tokens") != nil {
			changed = chatUsage(changed, s.output+s.tokens)
		}
		if hid && !uses && text(get(data, "choices", 0, "finish_reason")) == "tool_calls" {
			changed = set(changed, []byte(`"stop"`), "choices", 0, "finish_reason") // nobody answers a call that the client does not see
		}
		if !same(changed, data) {
			raw = withData(raw, changed)
		}
		out = append(out, raw...)
	}
	s.held = nil
	return out
}

func chatUsage(data []byte, output int) []byte {
	data = set(data, digits(output), "usage", "completion_tokens")
	return set(data, digits(number(get(data, "usage", "prompt_tokens"))+output), "usage", "total_tokens")
}

// same reports whether two slices are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// joinChat makes one complete answer of several, without our calls.
func joinChat(bodies [][]byte, own func(name string) bool) []byte {
	out := bodies[len(bodies)-1]
	var said []byte
	output := 0
	for _, b := range bodies {
		if c := get(b, "choices", 0, "message", "content"); len(c) > 2 && c[0] == '"' {
			if said != nil {
				said = append(said[:len(said)-1], '\\', 'n')
				c = c[1:]
			}
			said = append(said, c...)
		}
		output += number(get(b, "usage", "completion_tokens"))
	}
	calls := elements(get(out, "choices", 0, "message", "tool_calls"))
	var kept [][]byte
	for _, c := range calls {
		if !own(text(get(c, "function", "name"))) {
			kept = append(kept, c)
		}
	}
	if len(kept) == len(calls) && len(bodies) == 1 {
		return out
	}
	switch {
	case len(kept) > 0:
		out = set(out, arrayOf(kept), "choices", 0, "message", "tool_calls")
	case len(calls) > 0:
		out = without(out, "tool_calls", "choices", 0, "message")
		out = set(out, []byte(`"stop"`), "choices", 0, "finish_reason") // nobody answers a call that the client does not see
	}
	if said != nil {
		out = set(out, said, "choices", 0, "message", "content")
	}
	if id := get(bodies[0], "id"); id != nil {
		out = set(out, id, "id")
	}
	if get(out, "usage") == nil {
		return out
	}
	return chatUsage(out, output)
}
