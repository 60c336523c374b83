package relay

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
)

// Gemini is Gemini's generateContent.
var Gemini = &Wire{
	Stream: func(own func(string) bool) Stream { return &geminiStream{joined: joined{own: own}} },
	Join:   joinGemini,
	Whole: func(messages [][]byte) []byte {
		return slices.Concat([]byte(`{"candidates":[{"content":`), messages[0], []byte("}]}"))
	},
	Refuse: refuseGemini,
	TooLong: func(tokens, limit int) []byte {
		const text = "The input token count (%d) exceeds the maximum number of tokens allowed (%d)."
		return refuseGemini("invalid_request_error", fmt.Sprintf(text, tokens, limit))
	},
	// As the provider does it: not as an event.
	failure: func(body []byte) []byte { return append(bytes.Clone(body), "\n\n"...) },
	Ping:    "\n\n", // Google's libraries stop at comments
}

func refuseGemini(kind, text string) []byte {
	e, known := geminiErrors[kind]
	if !known {
		e.code, e.status = http.StatusBadRequest, "INVALID_ARGUMENT"
	}
	return encoded(object{"error": object{"code": e.code, "message": text, "status": e.status}})
}

var geminiErrors = map[string]struct {
	code   int
	status string
}{
	"authentication_error": {http.StatusUnauthorized, "UNAUTHENTICATED"},
	"permission_error":     {http.StatusForbidden, "PERMISSION_DENIED"},
	"billing_error":        {http.StatusForbidden, "PERMISSION_DENIED"},
	"not_found_error":      {http.StatusNotFound, "NOT_FOUND"},
	"rate_limit_error":     {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"},
	"overloaded_error":     {http.StatusServiceUnavailable, "UNAVAILABLE"},
	"request_too_large":    {http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT"},
	"api_error":            {http.StatusInternalServerError, "INTERNAL"},
}

type geminiStream struct {
	joined
	signed bool // a call of ours, after which none went to the client, had a signature
}

// silent reports whether only calls of ours, and perhaps thoughts, are in the answer.
func (s *geminiStream) silent() bool { return s.hid && !s.says }

var cutOffPart = []byte(`{"text":"` + cutOff + `"}`)

// Event takes a chunk. The last one has the reason for stopping; the stream's end ends the
// answer.
func (s *geminiStream) Event(raw, data []byte) ([]byte, bool) {
	if len(data) == 0 || data[0] != '{' {
		return raw, false
	}
	if e := get(data, "error"); e != nil {
		s.hold(raw)
		return nil, true
	}
	if n := get(data, "usageMetadata", "candidatesTokenCount"); n != nil {
		s.tokens = number(n)
	}
	changed := s.named(data, "responseId")
	parts := elements(get(data, "candidates", 0, "content", "parts"))
	kept, less := s.kept(parts)
	if less {
		changed = set(changed, arrayOf(kept), "candidates", 0, "content", "parts")
	}
	raw = rewritten(raw, data, changed)
	finish := get(changed, "candidates", 0, "finishReason")
	switch {
	case s.unanswerable() && len(kept) > 0 && finish != nil: // another answer may follow
		s.hold(withData(raw, set(changed, []byte("[]"), "candidates", 0, "content", "parts")))
		raw = withData(raw, without(changed, "finishReason", "candidates", 0))
	case finish != nil || len(s.held) > 0:
		s.hold(raw)
		return nil, false
	case len(kept) == 0 && len(parts) > 0:
		return nil, false
	}
	s.begun = s.begun || len(kept) > 0
	return raw, false
}

// kept are the parts but our calls. A call that had none because ours before it had the
// signature gets the value that Gemini takes instead: the client may send it in a conversation
// where ours is not.
func (s *geminiStream) kept(parts [][]byte) (kept [][]byte, changed bool) {
	for _, p := range parts {
		name, signed := get(p, "functionCall", "name"), get(p, "thoughtSignature") != nil
		if name != nil && s.own(text(name)) {
			s.signed, s.hid, changed = s.signed || signed, true, true
			continue
		}
		if name != nil && s.signed && !signed {
			p, changed = set(p, []byte(`"skip_thought_signature_validator"`), "thoughtSignature"), true
		}
		s.signed = s.signed && name == nil
		if name != nil {
			s.calls++
		}
		s.says = s.says || name != nil || len(get(p, "text")) > 2 && string(get(p, "thought")) != "true"
		kept = append(kept, p)
	}
	return kept, changed
}

func (s *geminiStream) End() []byte {
	return s.release(func(data []byte) []byte {
		if s.answer > 0 && get(data, "usageMetadata", "candidatesTokenCount") != nil {
			data = geminiUsage(data, s.output+s.tokens)
		}
		if s.silent() && get(data, "candidates", 0, "finishReason") != nil {
			parts := append(elements(get(data, "candidates", 0, "content", "parts")), cutOffPart)
			content := slices.Concat([]byte(`{"role":"model","parts":`), arrayOf(parts), []byte("}"))
			data = set(data, content, "candidates", 0, "content")
		}
		return data
	})
}

// geminiUsage sets the output tokens, and the total that follows.
func geminiUsage(data []byte, tokens int) []byte {
	before := number(get(data, "usageMetadata", "candidatesTokenCount"))
	total := number(get(data, "usageMetadata", "totalTokenCount")) - before + tokens
	data = set(data, digits(tokens), "usageMetadata", "candidatesTokenCount")
	return set(data, digits(total), "usageMetadata", "totalTokenCount")
}

// joinGemini makes one complete answer of several, without our calls: the last chunk of the
// last one, with the parts of all. An array stays one.
func joinGemini(bodies [][]byte, own func(name string) bool) []byte {
	s := geminiStream{joined: joined{own: own}}
	var parts [][]byte
	var last, id []byte
	output, isArray := 0, false
	for _, b := range bodies {
		s.Next()
		chunks := [][]byte{b}
		if isArray = len(bytes.TrimSpace(b)) > 0 && bytes.TrimSpace(b)[0] == '['; isArray {
			chunks = elements(b)
		}
		for _, c := range chunks {
			kept, _ := s.kept(elements(get(c, "candidates", 0, "content", "parts")))
			parts = append(parts, kept...)
			if last = c; id == nil {
				id = get(c, "responseId")
			}
		}
		output += number(get(last, "usageMetadata", "candidatesTokenCount"))
	}
	if len(parts) == 0 || s.silent() {
		parts = append(parts, cutOffPart)
	}
	out := set(last, arrayOf(parts), "candidates", 0, "content", "parts")
	if get(out, "usageMetadata", "candidatesTokenCount") != nil {
		out = geminiUsage(out, output)
	}
	if id != nil {
		out = set(out, id, "responseId")
	}
	if isArray {
		out = arrayOf([][]byte{out})
	}
	return out
}
