package relay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/sse"
)

// Chat is OpenAI Chat Completions.
var Chat = &Wire{
	Stream: func(own func(string) bool) Stream { return &chatStream{joined: joined{own: own}} },
	Join:   joinChat,
	Whole: func(messages [][]byte) []byte {
		return slices.Concat([]byte(`{"choices":[{"message":`), messages[0], []byte("}]}"))
	},
	Refuse:  refuseOpenAI,
	TooLong: tooLongOpenAI("messages"),
	failure: func(body []byte) []byte { return sse.AppendEvent(nil, "", body) },
	Ping:    ": keep-alive\n\n",
}

func refuseOpenAI(kind, text string) []byte { return refusalOpenAI(kind, kind, nil, text) }

func refusalOpenAI(kind, code string, param any, text string) []byte {
	return encoded(object{"error": object{"message": text, "type": kind, "param": param, "code": code}})
}

func tooLongOpenAI(param string) func(tokens, limit int) []byte {
	return func(tokens, limit int) []byte {
		text := fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in "+
			"%d tokens. Please reduce the length of the messages.", limit, tokens)
		return refusalOpenAI("invalid_request_error", "context_length_exceeded", param, text)
	}
}

type chatStream struct {
	joined
	said     bool             // an answer before this one has words
	ids      map[int]string   // of the newest call with each index
	nameless map[int][][]byte // pieces of calls whose name did not come yet: they may be ours
}

func (s *chatStream) Next() {
	s.said, s.ids, s.nameless = s.said || s.says, nil, nil
	s.joined.Next()
}

func (s *chatStream) Event(raw, data []byte) ([]byte, bool) {
	done := bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]"))
	if !done && (len(data) == 0 || data[0] != '{') {
		return raw, false
	}
	if e := get(data, "error"); done || e != nil && e[0] == '{' {
		s.hold(raw)
		return nil, true
	}
	if u := get(data, "usage", "completion_tokens"); u != nil {
		s.tokens = number(u)
	}
	changed, empty := s.screened(s.continued(data))
	raw = rewritten(raw, data, changed)
	finish, c := text(get(changed, "choices", 0, "finish_reason")), get(changed, "choices", 0, "delta", "content")
	says := len(c) > 2 && c[0] == '"'
	if says && s.said && !s.says { // on a line of its own, as in a complete answer
		raw = withData(raw, set(changed, append([]byte(`"\n`), c[1:]...), "choices", 0, "delta", "content"))
	}
	s.says = s.says || says
	switch {
	case s.unanswerable() && says && finish != "": // another answer may follow
		s.hold(withData(raw, without(changed, "content", "choices", 0, "delta")))
		raw = withData(raw, set(sse.Data(raw), []byte("null"), "choices", 0, "finish_reason"))
	case finish != "" || len(s.held) > 0: // usage follows the reason for stopping
		s.hold(raw)
		return nil, false
	case empty:
		return nil, false
	}
	s.begun = s.begun || says
	return raw, false
}

// continued makes a chunk of a later answer continue the first one.
func (s *chatStream) continued(data []byte) []byte {
	data = s.named(data, "id")
	if s.answer > 0 && get(data, "choices", 0, "delta", "role") != nil {
		data = without(data, "role", "choices", 0, "delta")
	}
	return data
}

// screened takes our calls out of a chunk. empty reports that nothing else was in it.
func (s *chatStream) screened(data []byte) (out []byte, empty bool) {
	var kept [][]byte
	changed := false
	for _, call := range elements(get(data, "choices", 0, "delta", "tool_calls")) {
		at := number(get(call, "index"))
		s.renew(at, text(get(call, "id")))
		name := cmp.Or(text(get(call, "function", "name")), text(get(call, "custom", "name")))
		kind := text(get(call, "type"))
		if _, known := s.parts[at]; !known && name == "" && (kind == "" || kind == "function") {
			s.withhold(at, call)
			changed = true
			continue
		}
		n := s.number(at, true, name)
		changed = changed || n != at || s.nameless[at] != nil
		if n >= 0 {
			kept = append(kept, renumbered(append(s.nameless[at], call), n)...)
		}
		delete(s.nameless, at)
	}
	switch {
	case !changed:
		return data, false
	case len(kept) > 0:
		return set(data, arrayOf(kept), "choices", 0, "delta", "tool_calls"), false
	}
	out = without(data, "tool_calls", "choices", 0, "delta")
	content := get(out, "choices", 0, "delta", "content")
	return out, get(out, "choices", 0, "delta", "role") == nil && (content == nil || content[0] == 'n')
}

// withhold keeps a piece of a call until its name says whose it is. A call without a name is nobody's.
func (s *chatStream) withhold(at int, call []byte) {
	if s.nameless == nil {
		s.nameless = make(map[int][][]byte)
	}
	s.nameless[at] = append(s.nameless[at], bytes.Clone(call))
}

// renumbered gives pieces of a call its number.
func renumbered(calls [][]byte, n int) [][]byte {
	for i, c := range calls {
		if at := get(c, "index"); at == nil && n != 0 || at != nil && number(at) != n {
			calls[i] = set(c, digits(n), "index")
		}
	}
	return calls
}

// renew forgets the call with an index where another one begins: some servers give all of them the same.
func (s *chatStream) renew(at int, id string) {
	if id == "" {
		return
	}
	if before := s.ids[at]; before != "" && before != id {
		delete(s.parts, at)
		delete(s.nameless, at)
	}
	if s.ids == nil {
		s.ids = make(map[int]string)
	}
	s.ids[at] = id
}

func (s *chatStream) End() []byte {
	return s.release(func(data []byte) []byte {
		finish := text(get(data, "choices", 0, "finish_reason"))
		if s.answer > 0 && get(data, "usage", "completion_tokens") != nil {
			data = withUsage(data, "prompt_tokens", "completion_tokens", s.output+s.tokens, "usage")
		}
		if finish != "" && s.unanswerable() && !s.says {
			data = set(data, s.cutOff(), "choices", 0, "delta", "content")
		}
		return data
	})
}

// cutOff is a text on a line of its own.
func (s *chatStream) cutOff() []byte {
	if s.said {
		return []byte(`"\n` + cutOff + `"`)
	}
	return []byte(`"` + cutOff + `"`)
}

// joinChat makes one complete answer of several, without our calls.
func joinChat(bodies [][]byte, own func(name string) bool) []byte {
	out := bodies[len(bodies)-1]
	calls := elements(get(out, "choices", 0, "message", "tool_calls"))
	var kept [][]byte
	for _, c := range calls {
		if !own(text(get(c, "function", "name"))) {
			kept = append(kept, c)
		}
	}
	var said []byte
	output := 0
	for i, b := range bodies {
		c := get(b, "choices", 0, "message", "content")
		if words := len(c) > 2 && c[0] == '"'; !words && i == len(bodies)-1 && len(calls) > 0 && len(kept) == 0 {
			c = []byte(`"` + cutOff + `"`)
		} else if !words {
			c = nil
		}
		if said != nil && c != nil {
			said = append(said[:len(said)-1], '\\', 'n')
			c = c[1:]
		}
		said = append(said, c...)
		output += number(get(b, "usage", "completion_tokens"))
	}
	switch {
	case len(kept) == len(calls) && len(bodies) == 1:
		return out
	case len(kept) > 0:
		out = set(out, arrayOf(kept), "choices", 0, "message", "tool_calls")
	case len(calls) > 0:
		out = without(out, "tool_calls", "choices", 0, "message")
	}
	if said != nil {
		out = set(out, said, "choices", 0, "message", "content")
	}
	if out = withID(out, bodies[0]); get(out, "usage") == nil {
		return out
	}
	return withUsage(out, "prompt_tokens", "completion_tokens", output, "usage")
}
