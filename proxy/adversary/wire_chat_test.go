package adversary

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var chatWire = &wire{
	name: "chat", array: "messages",
	path: func(*setup) string { return "/v1/chat/completions" },
	head: bearer,
	members: func(st style, s *setup, _ string) []string {
		out := []string{"model", st.str(s.model), "stream", fmt.Sprint(s.stream)}
		if s.stream {
			out = append(out, "stream_options", st.obj("include_usage", "true"))
		}
		return out
	},
	tool: func(st style, name, description, schema string) string {
		return st.obj("type", `"function"`, "function",
			st.obj("name", st.str(name), "description", st.str(description), "parameters", schema))
	},
	tools: func(st style, list []string) string { return st.arr(list...) },
	user: func(st style, s *setup, texts []string, pic bool) string {
		return chatMessage(st, s, "user", texts, pic)
	},
	results: func(st style, s *setup, rs []part, typed string) (out []string) {
		for _, r := range rs {
			content := st.str(r.text)
			if texts := strings.Split(r.text, "\x00"); len(texts) > 1 {
				var list []string
				for _, t := range texts {
					list = append(list, st.obj("type", `"text"`, "text", st.str(t)))
				}
				content = st.arr(list...)
			}
			out = append(out, st.obj("role", `"tool"`, "tool_call_id", st.str(r.id), "content", content))
		}
		if typed != "" {
			out = append(out, chatMessage(st, s, "user", []string{typed}, false))
		}
		return out
	},
	system: func(st style, text string) string { return st.obj("role", `"system"`, "content", st.str(text)) },
	answer: chatAnswer, parse: parseChat, reply: chatReply, read: readChat, check: checkChat,
	refuse: openaiRefuse,
	plain:  []string{"content"},
}

func bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

func openaiRefuse(tokens, limit int, numbers bool) (int, string) {
	message := fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", limit, tokens)
	if !numbers {
		message = "Your input exceeds the context window of this model. Please adjust your input and try again."
	}
	return 400, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error",`+
		`"param":"messages","code":"context_length_exceeded"}}`, message)
}

func chatMessage(st style, s *setup, role string, texts []string, pic bool) string {
	content := ""
	if len(texts) == 1 && !pic && s.texts {
		content = st.str(texts[0])
	} else {
		var list []string
		for _, t := range texts {
			list = append(list, st.obj("type", `"text"`, "text", st.str(t)))
		}
		if pic {
			list = append(list, st.obj("type", `"image_url"`, "image_url",
				st.obj("url", st.str("data:image/png;base64,"+picture))))
		}
		content = st.arr(list...)
	}
	return st.obj("role", st.str(role), "content", content)
}

func chatAnswer(st style, parts []part) []string {
	words, calls := chatMembers(st, parts)
	return []string{st.obj("role", `"assistant"`, "reasoning_content", chatThinking(st, parts), "content", words, "tool_calls", calls)}
}

// chatThinking is what servers other than OpenAI's send of the thinking of an answer; empty if there is none.
func chatThinking(st style, parts []part) string {
	if len(parts) > 0 && parts[0].kind == thinking {
		return st.str(parts[0].text)
	}
	return ""
}

// chatMembers are the content and the calls of an answer.
func chatMembers(st style, parts []part) (content, calls string) {
	var words strings.Builder
	var list []string
	for _, p := range parts {
		switch p.kind {
		case text:
			words.WriteString(p.text)
		case call:
			list = append(list, st.obj("id", st.str(p.id), "type", `"function"`, "function",
				st.obj("name", st.str(p.name), "arguments", st.str(p.args))))
		}
	}
	if len(list) > 0 {
		calls = st.arr(list...)
	}
	if words.Len() == 0 && calls != "" {
		return "null", calls
	}
	return st.str(words.String()), calls
}

func parseChat(raw []byte) (element, error) {
	o := parse(raw)
	e := element{role: o.str("role"), raw: string(raw)}
	if e.role == "developer" {
		e.role = "system"
	}
	if o.has("reasoning_content") {
		e.parts = append(e.parts, part{kind: thinking, text: o.str("reasoning_content")})
	}
	var whole []string
	add := func(t string, raw []byte) {
		if e.role != "tool" && (t != "" || e.role != "assistant") {
			e.parts = append(e.parts, part{kind: text, text: t, raw: string(raw)})
		}
		whole = append(whole, t)
	}
	if isString(o["content"]) {
		add(o.str("content"), o["content"])
	}
	for _, c := range o.list("content") {
		if b := parse(c); b.str("type") == text {
			add(b.str("text"), c)
		} else {
			e.parts = append(e.parts, part{kind: image, raw: string(c)})
		}
	}
	for _, c := range o.list("tool_calls") {
		b := parse(c)
		f := b.obj("function")
		e.parts = append(e.parts,
			part{kind: call, id: b.str("id"), name: f.str("name"), args: f.str("arguments"), raw: string(c)})
	}
	if string(o["content"]) == "null" && !o.has("tool_calls") || string(o["tool_calls"]) == "[]" ||
		string(o["content"]) == "[]" {
		e.flaw = "it has no content"
	}
	if e.role == "tool" {
		e.flaw = ""
		if slices.ContainsFunc(e.parts, func(p part) bool { return p.kind == image }) {
			e.flaw = "a result with a part that is no text"
		}
		e.parts = []part{{kind: result, id: o.str("tool_call_id"), text: strings.Join(whole, "\n"), raw: string(raw)}}
	}
	return e, nil
}

// The forms in which servers stream calls.
const (
	inPieces  = iota // a head, and then the arguments
	whole1           // all calls in one chunk
	headsOnly        // all heads first, then the arguments in turns
	nameLater        // the id in a chunk of its own
	oneIndex         // each call in a chunk, all with index 0
	chatForms
)

func chatReply(parts []part, u usage, stream bool) []byte {
	st, stop := style{}, "stop"
	_, calls := chatMembers(st, parts)
	form := u.in % (2 * chatForms)
	sparse := form >= chatForms // it begins without choices, and stops without a word of the calls
	form %= chatForms
	if calls != "" && !sparse {
		stop = "tool_calls"
	}
	used := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.in, u.out, u.in+u.out)
	if !stream {
		return fmt.Appendf(nil, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":%s}`,
			chatAnswer(st, parts)[0], stop, used)
	}
	var b strings.Builder
	chunk := func(choices, rest string) {
		fmt.Fprintf(&b,
			"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[%s]%s}\n\n",
			choices, rest)
	}
	send := func(delta, stop string) {
		chunk(st.obj("index", "0", "delta", delta, "finish_reason", stop), "")
	}
	if sparse {
		chunk("", `,"prompt_filter_results":[]`)
		b.WriteString(": keep-alive\n\n")
	}
	send(`{"role":"assistant","content":""}`, "null")
	var heads, rest, all []string
	for _, p := range parts {
		if p.kind == thinking {
			send(st.obj("reasoning_content", st.str(p.text)), "null")
		}
		if p.kind == text {
			send(st.obj("content", st.str(p.text)), "null")
		}
		if p.kind != call {
			continue
		}
		i, name, args := len(heads), st.str(p.name), st.str(p.args)
		at := fmt.Sprintf(`{"index":%d,`, i)
		id := fmt.Sprintf(`"id":%q,"type":"function"`, p.id)
		heads = append(heads, at+id+`,"function":{"name":`+name+`,"arguments":""}}`)
		rest = append(rest, at+`"function":{"arguments":`+args+`}}`)
		all = append(all, at+id+`,"function":{"name":`+name+`,"arguments":`+args+`}}`)
		switch form {
		case nameLater:
			heads[i] = at + id + `}`
			rest[i] = at + `"function":{"name":` + name + `,"arguments":` + args + `}}`
		case oneIndex:
			heads[i], rest[i] = strings.Replace(all[i], at, `{"index":0,`, 1), ""
		}
	}
	deltas := func(list ...string) {
		if one := strings.Join(list, ","); one != "" {
			send(`{"tool_calls":[`+one+`]}`, "null")
		}
	}
	switch form {
	case whole1:
		deltas(all...)
	case headsOnly:
		deltas(heads...)
		for _, r := range rest {
			deltas(r)
		}
	default:
		for i := range heads {
			deltas(heads[i])
			deltas(rest[i])
		}
	}
	send("{}", st.str(stop))
	chunk("", `,"usage":`+used)
	b.WriteString("data: [DONE]\n\n")
	return []byte(b.String())
}

func readChat(body []byte, stream bool) ([]part, error) {
	if !stream {
		o := parse(body)
		if choices := o.list("choices"); len(choices) == 1 {
			e, err := parseChat(parse(choices[0])["message"])
			return e.parts, err
		}
		return nil, errors.New("an answer without a choice")
	}
	var words string
	var calls []part
	at := map[string]int{} // by index
	for _, e := range events(body) {
		for _, c := range e.list("choices") {
			d := parse(c).obj("delta")
			words += d.str("content")
			for _, raw := range d.list("tool_calls") {
				o := parse(raw)
				if o.has("id") {
					if string(o["index"]) != fmt.Sprint(len(calls)) && string(o["index"]) != "0" {
						return nil, fmt.Errorf("call %d has the index %s", len(calls), o["index"])
					}
					at[string(o["index"])] = len(calls)
					calls = append(calls, part{kind: call, id: o.str("id")})
				}
				i, ok := at[string(o["index"])]
				if !ok {
					return nil, fmt.Errorf("a piece of no call: %s", raw)
				}
				p := &calls[i]
				p.name += o.obj("function").str("name")
				p.args += o.obj("function").str("arguments")
			}
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(string(body)), "data: [DONE]") {
		return nil, errors.New("the stream has no end")
	}
	if words != "" {
		calls = append([]part{{kind: text, text: words}}, calls...)
	}
	return calls, nil
}

func checkChat(v *view) (bad []string) {
	say := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("message %d: ", i)+fmt.Sprintf(format, args...))
	}
	open := map[string]bool{}
	for i, e := range v.elements {
		if e.flaw != "" {
			say(i, "%s", e.flaw)
		}
		if e.role == "tool" {
			if p := e.parts[0]; !open[p.id] {
				say(i, "a result of %q, which the answer before does not call or which has one", p.id)
			} else {
				delete(open, p.id)
			}
			continue
		}
		if len(open) > 0 {
			say(i, "calls without results before it: %v", open)
		}
		open = map[string]bool{}
		switch e.role {
		case "user", "assistant", "system":
		default:
			say(i, "role %q", e.role)
		}
		for _, p := range e.parts {
			if p.kind == call {
				if open[p.id] || e.role != "assistant" {
					say(i, "call %q comes twice or is not the model's", p.id)
				}
				open[p.id] = true
			}
		}
	}
	if len(open) > 0 {
		say(len(v.elements), "calls without results at the end: %v", open)
	}
	if n := len(v.elements); n == 0 || v.elements[n-1].role == "assistant" {
		say(n-1, "there is nothing to answer")
	}
	return bad
}
