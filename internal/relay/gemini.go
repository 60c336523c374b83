package relay

import (
	"bytes"
	"fmt"
	"net/http"
)

// Gemini is Gemini's generateContent.
var Gemini = &Wire{
	Stream: func(own func(string) bool) Stream { return &geminiStream{joined: joined{own: own}} },
	Join:   joinGemini,
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
	code, status := http.StatusBadRequest, "INVALID_ARGUMENT"
	switch kind {
	case "overloaded_error":
		code, status = http.StatusServiceUnavailable, "UNAVAILABLE"
	case "request_too_large":
		code = http.StatusRequestEntityTooLarge
	case "api_error":
		code, status = http.StatusInternalServerError, "INTERNAL"
	}
	return encoded(object{"error": object{"code": code, "message": text, "status": status}})
}

type geminiStream struct {
	joined
	signed bool // a call of ours, after which none went to the client, had a signature
}

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
	if s.id == nil {
		s.id = bytes.Clone(get(data, "responseId"))
	}
	if n := get(data, "usageMetadata", "candidatesTokenCount"); n != nil {
		s.tokens = number(n)
	}
	changed := data
	parts := elements(get(data, "candidates", 0, "content", "parts"))
	kept, less := s.kept(parts)
	if less {
		changed = set(changed, arrayOf(kept), "candidates", 0, "content", "parts")
	}
	if s.answer > 0 && s.id != nil && get(changed, "responseId") != nil {
		changed = set(changed, s.id, "responseId")
	}
	raw = rewritten(raw, data, changed)
	switch {
	case get(changed, "candidates", 0, "finishReason") != nil || len(s.held) > 0:
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
			s.signed, changed = s.signed || signed, true
			continue
		}
		if name != nil && s.signed && !signed {
			p, changed = set(p, []byte(`"skip_thought_signature_validator"`), "thoughtSignature"), true
		}
		s.signed = s.signed && name == nil
		kept = append(kept, p)
	}
	return kept, changed
}

func (s *geminiStream) End() []byte {
	return s.release(func(data []byte) []byte {
		if s.answer > 0 && get(data, "usageMetadata", "candidatesTokenCount") != nil {
			data = geminiUsage(data, s.output+s.tokens)
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
	if len(parts) == 0 {
		parts = [][]byte{[]byte(`{"text":""}`)}
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
