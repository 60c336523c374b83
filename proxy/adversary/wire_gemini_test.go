package adversary

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

var geminiWire = &wire{
	name: "gemini", array: "contents",
	path: func(s *setup) string {
		if s.stream {
			return "/v1beta/models/" + s.model + ":streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/" + s.model + ":generateContent"
	},
	head: func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
	members: func(st style, _ *setup, system string) []string {
		return []string{"systemInstruction", st.obj("parts", st.arr(st.obj("text", st.str(system))))}
	},
	tool: func(st style, name, description, schema string) string {
		return st.obj("name", st.str(name), "description", st.str(description), "parametersJsonSchema", schema)
	},
	tools: func(st style, list []string) string {
		return st.arr(st.obj("functionDeclarations", st.arr(list...)))
	},
	user: func(st style, _ *setup, texts []string, pic bool) string {
		var list []string
		for _, t := range texts {
			list = append(list, st.obj("text", st.str(t)))
		}
		if pic {
			list = append(list, st.obj("inlineData", st.obj("mimeType", `"image/png"`, "data", st.str(picture))))
		}
		return st.obj("role", `"user"`, "parts", st.arr(list...))
	},
	results: func(st style, s *setup, rs []part, typed string) []string {
		var list []string
		for _, r := range rs {
			id := ""
			if strings.HasPrefix(s.model, "gemini-3") {
				id = st.str(r.id)
			}
			name := "output"
			if r.failed {
				name = "error"
			}
			list = append(list, st.obj("functionResponse",
				st.obj("id", id, "name", st.str(r.name), "response", st.obj(name, st.str(r.text)))))
		}
		if typed != "" {
			list = append(list, st.obj("text", st.str(typed)))
		}
		return []string{st.obj("role", `"user"`, "parts", st.arr(list...))}
	},
	answer: func(st style, parts []part) []string {
		return []string{st.obj("role", `"model"`, "parts", st.arr(geminiParts(st, parts)...))}
	},
	parse: parseGemini, reply: geminiReply, read: readGemini, check: checkGemini,
	refuse: func(tokens, limit int, numbers bool) (int, string) {
		message := fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).",
			tokens, limit)
		if !numbers {
			message = "The input token count exceeds the maximum number of tokens allowed."
		}
		return 400, fmt.Sprintf(`{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, message)
	},
	plain: []string{"parts"},
}

func geminiSign(id string) string { return base64.StdEncoding.EncodeToString([]byte("signed " + id)) }

func geminiParts(st style, parts []part) (out []string) {
	for _, p := range parts {
		sig := ""
		if p.sig != "" {
			sig = st.str(p.sig)
		}
		switch p.kind {
		case text:
			out = append(out, st.obj("text", st.str(p.text), "thoughtSignature", sig))
		case thinking:
			out = append(out, st.obj("text", st.str(p.text), "thought", "true"))
		case call:
			id := ""
			if p.item != "" {
				id = st.str(p.item)
			}
			out = append(out, st.obj("functionCall", st.obj("id", id, "name", st.str(p.name), "args", p.args),
				"thoughtSignature", sig))
		}
	}
	return out
}

func parseGemini(raw []byte) (element, error) {
	o := parse(raw)
	e := element{role: o.str("role"), raw: string(raw)}
	if e.role == "model" {
		e.role = "assistant"
	}
	for _, c := range o.list("parts") {
		b := parse(c)
		p := part{raw: string(c), sig: b.str("thoughtSignature")}
		switch {
		case b.has("functionCall"):
			f := b.obj("functionCall")
			p.kind, p.item, p.name, p.args = call, f.str("id"), f.str("name"), string(f["args"])
			p.id = geminiID(p)
		case b.has("functionResponse"):
			f := b.obj("functionResponse")
			p.kind, p.item, p.name = result, f.str("id"), f.str("name")
			p.text, p.failed = f.obj("response").str("output"), f.obj("response").has("error")
			if p.failed {
				p.text = f.obj("response").str("error")
			}
			p.id = p.item
		case b.has("inlineData"):
			p.kind = image
		case string(b["thought"]) == "true":
			p.kind, p.text = thinking, b.str("text")
		case b.has("text"):
			p.kind, p.text = text, b.str("text")
		default:
			return e, fmt.Errorf("a part without data: %s", c)
		}
		e.parts = append(e.parts, p)
	}
	return e, nil
}

// geminiID is what a call is known by here: its id, or what its arguments name where the
// model gives none.
func geminiID(p part) string {
	if p.item != "" {
		return p.item
	}
	return parse([]byte(p.args)).str("n")
}

func geminiReply(parts []part, u usage, stream bool) []byte {
	st := style{}
	chunk := func(list []string, last bool) string {
		stop := ""
		if last {
			stop = `,"finishReason":"STOP"`
		}
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":%s,"role":"model"},"index":0%s}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m","responseId":"r1"}`,
			st.arr(list...), stop, u.in, u.out, u.in+u.out)
	}
	list := geminiParts(st, parts)
	if !stream {
		return []byte(chunk(list, true))
	}
	var b strings.Builder
	for i, p := range list {
		fmt.Fprintf(&b, "data: %s\n\n", chunk([]string{p}, i == len(list)-1))
	}
	return []byte(b.String())
}

func readGemini(body []byte, stream bool) (parts []part, err error) {
	chunks := []object{parse(body)}
	if stream {
		chunks = events(body)
	}
	ended := false
	for _, c := range chunks {
		for _, raw := range c.list("candidates") {
			e, err := parseGemini(parse(raw)["content"])
			if err != nil {
				return nil, err
			}
			parts = append(parts, e.parts...)
			ended = ended || parse(raw).has("finishReason")
		}
	}
	if !ended {
		return nil, errors.New("the answer has no end")
	}
	return parts, nil
}

func checkGemini(v *view) (bad []string) {
	say := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("content %d: ", i)+fmt.Sprintf(format, args...))
	}
	turn := 0 // where the current turn begins
	var open []part
	for i, e := range v.elements {
		var calls, answers []part
		for _, p := range e.parts {
			switch p.kind {
			case call:
				calls = append(calls, p)
			case result:
				answers = append(answers, p)
			}
		}
		switch {
		case e.role != "user" && e.role != "assistant":
			say(i, "role %q", e.role)
		case len(e.parts) == 0:
			say(i, "it has no parts")
		case i == 0 && e.role != "user":
			say(i, "the first is the model's")
		case len(calls) > 0 && v.elements[i-1].role != "user":
			say(i, "calls that do not follow the user or responses")
		case len(answers) != len(open):
			say(i, "%d responses to %d calls", len(answers), len(open))
		case len(calls) > 0 && e.role != "assistant" || len(answers) > 0 && e.role != "user":
			say(i, "calls or responses of the wrong role")
		}
		for k, p := range answers {
			if len(answers) == len(open) && (p.name != open[k].name || p.item != open[k].item) {
				say(i, "response %d is to %s %s, not to %s %s", k, p.name, p.item, open[k].name, open[k].item)
			}
		}
		if e.role == "user" && len(answers) == 0 && e.has(text) {
			turn = i
		}
		open = calls
	}
	if len(open) > 0 {
		say(len(v.elements), "calls without responses at the end")
	}
	if n := len(v.elements); n > 0 && v.elements[n-1].role != "user" {
		say(n-1, "the conversation ends with an answer")
	}
	return append(bad, checkSignatures(v, turn)...)
}

// checkSignatures holds the calls of the current turn to the signatures that they came with.
func checkSignatures(v *view, turn int) (bad []string) {
	if !strings.HasPrefix(v.setup.model, "gemini-3") {
		return nil
	}
	for i, e := range v.elements {
		first := true
		for _, p := range e.parts {
			if p.kind != call {
				continue
			}
			switch was := v.said.call[p.id]; {
			case p.sig != "" && p.sig != was && p.sig != "skip_thought_signature_validator":
				bad = append(bad, fmt.Sprintf("content %d: call %s has the signature of another", i, p.id))
			case first && p.sig == "" && i > turn && !v.setup.loose:
				bad = append(bad, fmt.Sprintf("content %d: call %s has no signature", i, p.id))
			}
			first = false
		}
	}
	return bad
}
