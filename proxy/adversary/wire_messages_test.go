package adversary

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// picture is a PNG of one dot.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var messagesWire = &wire{
	name: "messages", array: "messages", counts: "/count_tokens",
	path: func(*setup) string { return "/v1/messages" },
	head: func(h http.Header, key string) {
		h.Set("X-Api-Key", key)
		h.Set("Anthropic-Version", "2023-06-01")
	},
	members: func(st style, s *setup, system string) []string {
		out := []string{"model", st.str(s.model), "max_tokens", "1000", "stream", fmt.Sprint(s.stream)}
		switch s.think {
		case "adaptive", "between_tools":
			out = append(out, "thinking", st.obj("type", st.str(s.think)))
		case "enabled":
			out = append(out, "thinking", st.obj("type", `"enabled"`, "budget_tokens", "512"))
		}
		marker := ""
		if s.markers {
			marker = `{"type":"ephemeral"}`
		}
		return append(out, "system", st.arr(st.obj("type", `"text"`, "text", st.str(system), "cache_control", marker)))
	},
	tool: func(st style, name, description, schema string) string {
		return st.obj("name", st.str(name), "description", st.str(description), "input_schema", schema)
	},
	tools: func(st style, list []string) string { return st.arr(list...) },
	user: func(st style, s *setup, texts []string, pic bool) string {
		if len(texts) == 1 && !pic && s.texts {
			return st.obj("role", `"user"`, "content", st.str(texts[0]))
		}
		var blocks []string
		for _, t := range texts {
			blocks = append(blocks, st.obj("type", `"text"`, "text", st.str(t)))
		}
		if pic {
			blocks = append(blocks, messagesImage(st))
		}
		return st.obj("role", `"user"`, "content", st.arr(blocks...))
	},
	results: func(st style, s *setup, rs []part, typed string) []string {
		var blocks []string
		for _, r := range rs {
			failed := ""
			if r.failed {
				failed = "true"
			}
			content := ""
			texts := strings.Split(r.text, "\x00")
			switch {
			case r.raw == image:
				content = st.arr(st.obj("type", `"text"`, "text", st.str(r.text)), messagesImage(st))
			case r.text == "": // no content at all
			case len(texts) > 1 || !s.texts:
				var list []string
				for _, t := range texts {
					list = append(list, st.obj("type", `"text"`, "text", st.str(t)))
				}
				content = st.arr(list...)
			default:
				content = st.str(r.text)
			}
			blocks = append(blocks, st.obj("type", `"tool_result"`, "tool_use_id", st.str(r.id), "content", content,
				"is_error", failed))
		}
		if typed != "" {
			blocks = append(blocks, st.obj("type", `"text"`, "text", st.str(typed)))
		}
		return []string{st.obj("role", `"user"`, "content", st.arr(blocks...))}
	},
	system: func(st style, text string) string {
		return st.obj("role", `"system"`, "content", st.arr(st.obj("type", `"text"`, "text", st.str(text))))
	},
	state: func(st style, n int) string {
		tool := st.obj("type", `"tool_definition"`, "definition",
			st.obj("name", st.str(fmt.Sprint("more", n)), "input_schema", "{}"))
		return st.obj("role", `"system"`, "content", st.arr(st.obj("type", `"tool_addition"`, "tool", tool)))
	},
	answer: func(st style, parts []part) []string {
		return []string{st.obj("role", `"assistant"`, "content", st.arr(messagesBlocks(st, parts)...))}
	},
	parse: parseMessage, reply: messagesReply, read: readMessages, check: checkMessages,
	refuse: func(tokens, limit int, numbers bool) (int, string) {
		if !numbers {
			return 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`
		}
		return 400, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error",`+
			`"message":"prompt is too long: %d tokens > %d maximum"}}`, tokens, limit)
	},
	plain: []string{"content"},
}

func messagesImage(st style) string {
	return st.obj("type", `"image"`, "source",
		st.obj("type", `"base64"`, "media_type", `"image/png"`, "data", st.str(picture)))
}

func messagesBlocks(st style, parts []part) (blocks []string) {
	for _, p := range parts {
		switch p.kind {
		case text:
			blocks = append(blocks, st.obj("type", `"text"`, "text", st.str(p.text)))
		case thinking:
			blocks = append(blocks,
				st.obj("type", `"thinking"`, "thinking", st.str(p.text), "signature", st.str(p.sig)))
		case call:
			blocks = append(blocks,
				st.obj("type", `"tool_use"`, "id", st.str(p.id), "name", st.str(p.name), "input", p.args))
		case hosted:
			blocks = append(blocks, st.obj("type", `"server_tool_use"`, "id", st.str(p.id), "name", `"code_execution"`,
				"input", st.obj("code", st.str(p.text))))
		case served:
			blocks = append(blocks, st.obj("type", `"code_execution_tool_result"`, "tool_use_id", st.str(p.id),
				"content", st.obj("stdout", st.str(p.text))))
		}
	}
	return blocks
}

func parseMessage(raw []byte) (element, error) {
	o := parse(raw)
	e := element{role: o.str("role"), raw: string(raw)}
	if isString(o["content"]) {
		e.parts = []part{{kind: text, text: o.str("content"), raw: string(o["content"])}}
		return e, nil
	}
	for _, b := range o.list("content") {
		e.parts = append(e.parts, messagesPart(b))
	}
	if !o.has("content") {
		return e, errors.New("a message without content")
	}
	return e, nil
}

func messagesPart(raw []byte) part {
	b := parse(raw)
	p := part{kind: b.str("type"), raw: string(raw), marked: b.has("cache_control")}
	switch p.kind {
	case text:
		p.text = b.str("text")
	case "tool_addition":
		p.kind = state
	case thinking:
		p.text, p.sig = b.str("thinking"), b.str("signature")
	case "tool_use":
		p.kind, p.id, p.name, p.args = call, b.str("id"), b.str("name"), string(b["input"])
		if !messagesID.MatchString(p.id) || parse([]byte(p.args)) == nil {
			p.flaw = fmt.Sprintf("call %q has a bad id or input %q", p.id, p.args)
		}
	case "server_tool_use":
		p.kind, p.id, p.open, p.text = hosted, b.str("id"), true, b.obj("input").str("code")
	case "code_execution_tool_result":
		p.kind, p.id, p.text = served, b.str("tool_use_id"), b.obj("content").str("stdout")
	case "tool_result":
		p.kind, p.id, p.failed = result, b.str("tool_use_id"), string(b["is_error"]) == "true"
		if isString(b["content"]) {
			p.text = b.str("content") // an empty string is legal
			break
		}
		var texts []string
		for _, c := range b.list("content") {
			o := parse(c)
			kind, t := o.str("type"), o.str("text")
			switch {
			case kind == text && strings.TrimSpace(t) == "":
				p.flaw = "empty text in the result of " + p.id
			case kind != text && p.failed:
				p.flaw = kind + " in a failed result"
			}
			if kind == text {
				texts = append(texts, t)
			}
		}
		p.text = strings.Join(texts, "\n")
	}
	return p
}

func messagesReply(parts []part, u usage, stream bool) []byte {
	stop, st := "end_turn", style{}
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == call }) {
		stop = "tool_use"
	}
	if !stream {
		return fmt.Appendf(nil, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":%s,"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			st.arr(messagesBlocks(st, parts)...), stop, u.in, u.out)
	}
	var b strings.Builder
	send := func(kind, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	send("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, u.in))
	send("ping", "")
	for i, p := range parts {
		begin := func(block string) {
			send("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, block))
		}
		delta := func(kind, name, value string) {
			send("content_block_delta",
				fmt.Sprintf(`,"index":%d,"delta":{"type":%q,%q:%s}`, i, kind, name, st.str(value)))
		}
		switch p.kind {
		case text:
			begin(`{"type":"text","text":""}`)
			half := len(p.text) / 2
			for half > 0 && p.text[half]&0xc0 == 0x80 {
				half--
			}
			delta("text_delta", "text", p.text[:half])
			delta("text_delta", "text", p.text[half:])
		case thinking:
			begin(`{"type":"thinking","thinking":"","signature":""}`)
			delta("thinking_delta", "thinking", p.text)
			delta("signature_delta", "signature", p.sig)
		case call:
			begin(st.obj("type", `"tool_use"`, "id", st.str(p.id), "name", st.str(p.name), "input", "{}"))
			delta("input_json_delta", "partial_json", "")
			delta("input_json_delta", "partial_json", p.args)
		default:
			begin(messagesBlocks(st, []part{p})[0])
		}
		send("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	send("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`,
		stop, u.out))
	send("message_stop", "")
	return []byte(b.String())
}

func readMessages(body []byte, stream bool) (parts []part, err error) {
	if !stream {
		o := parse(body)
		for _, b := range o.list("content") {
			parts = append(parts, messagesPart(b))
		}
		if !o.has("content") {
			err = errors.New("an answer without content")
		}
		return parts, err
	}
	ended := false
	for _, e := range events(body) {
		switch e.str("type") {
		case "content_block_start":
			if fmt.Sprint(len(parts)) != string(e["index"]) {
				return nil, fmt.Errorf("block %d has the index %s", len(parts), e["index"])
			}
			parts = append(parts, messagesPart(e["content_block"]))
			parts[len(parts)-1].args = ""
		case "content_block_delta":
			p, d := &parts[len(parts)-1], e.obj("delta")
			p.text += d.str("text") + d.str("thinking")
			p.sig += d.str("signature")
			p.args += d.str("partial_json")
		case "message_stop":
			ended = true
		}
	}
	if !ended {
		return nil, errors.New("the stream has no end")
	}
	return parts, nil
}

var messagesID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkMessages(v *view) (bad []string) {
	say := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("message %d: ", i)+fmt.Sprintf(format, args...))
	}
	es := turns(v.elements)
	if len(es) == 0 || es[0].role != "user" {
		say(0, "the first message is not the user's")
	}
	ids, open, asked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range es {
		e := &es[i]
		for _, p := range e.parts {
			switch {
			case p.kind == hosted:
				asked[p.id] = true
			case p.kind == served && !asked[p.id]:
				say(i, "an answer to %s, which nobody asks for before it", p.id)
			case p.kind == served:
				delete(asked, p.id)
			case len(asked) > 0 && e.role == "user" && p.kind != result:
				say(i, "the user speaks before %v are answered", asked)
			}
		}
		if len(e.parts) == 0 && e.role != "system" {
			say(i, "it has no content")
		}
		switch {
		case e.role == "user" || e.role == "assistant":
		case e.role != "system" || !v.setup.system:
			say(i, "role %q", e.role)
		case i == 0 || es[i-1].role == "assistant":
			say(i, "a system message behind an answer or at the beginning")
		case i+1 < len(es) && es[i+1].role == "user":
			say(i, "a system message before a user's")
		}
		answered, other := map[string]bool{}, false
		for _, p := range e.parts {
			if p.kind == text && strings.TrimSpace(p.text) == "" {
				say(i, "empty text")
			}
			if p.flaw != "" {
				say(i, "%s", p.flaw)
			}
			if p.kind != result {
				other = true
				continue
			}
			switch {
			case e.role != "user":
				say(i, "a result in a message of role %s", e.role)
			case other:
				say(i, "something before the result of %s", p.id)
			case !open[p.id]:
				say(i, "result of %s, which the message before does not call", p.id)
			case answered[p.id]:
				say(i, "two results of %s", p.id)
			}
			answered[p.id] = true
		}
		for id := range open {
			if !answered[id] {
				say(i, "no result of %s", id)
			}
		}
		open = map[string]bool{}
		for _, p := range e.parts {
			if p.kind != call {
				continue
			}
			if ids[p.id] || e.role != "assistant" {
				say(i, "call %q comes twice, or has a bad role", p.id)
			}
			ids[p.id], open[p.id] = true, true
		}
	}
	if len(open) > 0 {
		say(len(es), "calls without results at the end: %v", open)
	}
	if n := len(es); n > 0 && (es[n-1].role == "assistant") {
		say(n-1, "the conversation ends with an answer")
	}
	return append(append(bad, checkMarkers(v)...), checkThinking(v)...)
}

// turns joins the messages of one role that follow each other, as the provider does.
func turns(es []element) (out []element) {
	for _, e := range es {
		if n := len(out); n > 0 && out[n-1].role == e.role && e.role != "system" {
			out[n-1].parts = slices.Concat(out[n-1].parts, e.parts)
			continue
		}
		out = append(out, e)
	}
	return out
}

// checkMarkers holds to the rules of cache markers.
func checkMarkers(v *view) (bad []string) {
	n := 0
	for _, b := range v.body.list("system") {
		if parse(b).has("cache_control") {
			n++
		}
	}
	for _, b := range v.body.list("tools") {
		if parse(b).has("cache_control") {
			n++
		}
	}
	for i, e := range v.elements {
		for _, p := range e.parts {
			if !p.marked {
				continue
			}
			n++
			if p.kind == thinking || p.kind == text && p.text == "" {
				bad = append(bad, fmt.Sprintf("message %d: a cache marker on %s", i, p.kind))
			}
		}
	}
	if n > 4 {
		bad = append(bad, fmt.Sprintf("%d cache markers", n))
	}
	return bad
}

// prefix is what a model is given before a place, as far as thinking is bound to it: without
// thinking, markers and the borders between messages of one role.
type prefix struct {
	hash.Hash
	said     *memory
	role     string
	thoughts []string
}

func newPrefix(v *view) *prefix {
	p := &prefix{Hash: sha256.New(), said: v.said}
	p.add(v.said.unmarked(string(v.body["system"])) + v.said.unmarked(string(v.body["tools"])))
	return p
}

func (h *prefix) add(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }

func (h *prefix) part(role string, p part) {
	if role != h.role {
		h.role = role
		h.add("\n" + role)
	}
	switch p.kind {
	case thinking:
		h.thoughts = append(h.thoughts, p.sig)
	case text:
		h.add(p.text)
	default:
		h.add(h.said.unmarked(p.raw))
	}
}

func (h *prefix) sum() string { return string(h.Sum(nil)) }

// whole is the prefix of what comes behind all of a view.
func whole(v *view) *prefix {
	h := newPrefix(v)
	for _, e := range v.elements {
		for _, p := range e.parts {
			h.part(e.role, p)
		}
	}
	return h
}

// checkThinking holds thinking to what the provider made: unchanged, in the newest answer
// complete, and on models that bind it, behind what was before it, or with leave to drop it.
func checkThinking(v *view) (bad []string) {
	leave := strings.Contains(string(v.body["thinking"]), `"drop_block"`)
	beta := strings.Contains(v.head.Get("Anthropic-Beta"), "thinking-binding-controls-2026-08-01")
	if leave && !beta {
		bad = append(bad, "drop_block without its beta header")
	}
	bound := v.setup.binds && !leave
	var h *prefix
	if bound {
		h = newPrefix(v)
	}
	for i, e := range v.elements {
		for _, p := range e.parts {
			if p.kind == thinking {
				was, ok := v.said.thinking[p.sig]
				if !ok || was.raw != p.text {
					bad = append(bad, fmt.Sprintf("message %d: thinking that no answer has", i))
				} else if bound && h.sum() != was.before {
					bad = append(bad,
						fmt.Sprintf("message %d: thinking behind other content than it was made behind", i))
				} else if n := len(was.others); bound &&
					(n < len(h.thoughts) || !slices.Equal(was.others[n-len(h.thoughts):], h.thoughts)) {
					bad = append(bad, fmt.Sprintf("message %d: thinking is gone between other thinking (%v, not %v)", i, h.thoughts, was.others))
				}
			}
			if bound {
				h.part(e.role, p)
			}
		}
	}
	return append(bad, checkNewest(v)...)
}

// checkNewest looks at the answer of the round that is open: with thinking that has to come
// first it begins with it. What a client has of it may begin with a text that was said
// without thinking beside a hidden call, and that is all that is known of it once the client
// has changed what is before it.
func checkNewest(v *view) (bad []string) {
	n := len(v.elements)
	for n > 0 && v.elements[n-1].role != "assistant" {
		n--
	}
	if n == 0 || n == len(v.elements) || !v.elements[n].has(result) {
		return nil
	}
	if e := v.elements[n-1]; v.setup.think == "enabled" && e.parts[0].kind != thinking &&
		!v.said.beside[known(e.parts[0])] {
		for _, p := range e.parts {
			if _, ok := v.said.call[p.id]; ok && p.kind == call && v.said.call[p.id] != "" {
				return []string{
					fmt.Sprintf("message %d: the newest answer came with thinking and does not begin with it", n-1),
				}
			}
		}
	}
	return nil
}
