package adversary

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var responsesWire = &wire{
	name: "responses", array: "input",
	path: func(*setup) string { return "/v1/responses" },
	head: bearer,
	members: func(st style, s *setup, system string) []string {
		return []string{
			"model", st.str(s.model), "stream", fmt.Sprint(s.stream), "store", "false", "instructions",
			st.str(system),
		}
	},
	tool: func(st style, name, description, schema string) string {
		return st.obj("type", `"function"`, "name", st.str(name), "description", st.str(description),
			"parameters", schema)
	},
	tools: func(st style, list []string) string { return st.arr(list...) },
	user: func(st style, s *setup, texts []string, pic bool) string {
		if len(texts) == 1 && !pic && s.texts {
			return st.obj("role", `"user"`, "content", st.str(texts[0]))
		}
		var list []string
		for _, t := range texts {
			list = append(list, st.obj("type", `"input_text"`, "text", st.str(t)))
		}
		if pic {
			list = append(list, responsesImage(st))
		}
		return st.obj("type", `"message"`, "role", `"user"`, "content", st.arr(list...))
	},
	results: func(st style, s *setup, rs []part, typed string) (out []string) {
		for _, r := range rs {
			if r.kind == served {
				out = append(out, responsesHosted(st, r))
				continue
			}
			content := st.str(r.text)
			if texts := strings.Split(r.text, "\x00"); len(texts) > 1 || r.raw == image {
				var list []string
				for _, t := range texts {
					list = append(list, st.obj("type", `"input_text"`, "text", st.str(t)))
				}
				if r.raw == image {
					list = append(list, responsesImage(st))
				}
				content = st.arr(list...)
			}
			out = append(out, st.obj("type", `"function_call_output"`, "call_id", st.str(r.id), "output", content))
		}
		if typed != "" {
			out = append(out, st.obj("role", `"user"`, "content", st.str(typed)))
		}
		return out
	},
	system: func(st style, text string) string {
		return st.obj("type", `"message"`, "role", `"developer"`, "content",
			st.arr(st.obj("type", `"input_text"`, "text", st.str(text))))
	},
	state: func(st style, n int) string {
		switch n % 3 {
		case 0:
			return st.obj("type", `"compaction"`, "id", st.str(fmt.Sprint("cmp_", n)), "encrypted_content", `"gAAA"`)
		case 1:
			return st.obj("type", `"configuration_update"`, "id", st.str(fmt.Sprint("cu_", n)),
				"reasoning", `{"effort":"low"}`)
		}
		tool := st.obj("type", `"function"`, "name", st.str(fmt.Sprint("more", n)), "parameters", "{}")
		return st.obj("type", `"additional_tools"`, "role", `"developer"`, "tools", st.arr(tool))
	},
	answer: responsesItems, parse: parseResponses, reply: responsesReply, read: readResponses, check: checkResponses,
	refuse: openaiRefuse,
	plain:  []string{"content", "output", "id"},
}

func responsesImage(st style) string {
	return st.obj("type", `"input_image"`, "image_url", st.str("data:image/png;base64,"+picture))
}

func responsesItems(st style, parts []part) (out []string) {
	for _, p := range parts {
		id := ""
		if p.item != "" {
			id = st.str(p.item)
		}
		switch p.kind {
		case text:
			out = append(out, st.obj("type", `"message"`, "id", id, "status", `"completed"`, "role", `"assistant"`,
				"content", st.arr(st.obj("type", `"output_text"`, "text", st.str(p.text), "annotations", "[]"))))
		case thinking:
			out = append(out,
				st.obj("type", `"reasoning"`, "id", id, "summary", "[]", "encrypted_content", st.str(p.sig)))
		case call:
			out = append(out, st.obj("type", `"function_call"`, "id", id, "status", `"completed"`, "call_id",
				st.str(p.id), "name", st.str(p.name), "arguments", st.str(p.args)))
		default:
			out = append(out, responsesHosted(st, p))
		}
	}
	return out
}

// responsesHosted is what a tool of the provider's says, or what answers it: each has its own form.
func responsesHosted(st style, p part) string {
	kind, _, _ := strings.Cut(p.id, "_")
	id, key, text := "", st.str(p.id), st.str(p.text)
	if p.item != "" {
		id = st.str(p.item)
	}
	switch kind + "/" + p.kind {
	case "mcpr/" + hosted:
		return st.obj("type", `"mcp_approval_request"`, "id", key, "name", `"look"`, "arguments", text)
	case "mcpr/" + served:
		return st.obj("type", `"mcp_approval_response"`, "approval_request_id", key, "approve", "true")
	case "find/" + hosted:
		return st.obj("type", `"tool_search_call"`, "id", id, "call_id", key, "arguments", st.obj("q", text))
	case "find/" + served:
		return st.obj("type", `"tool_search_output"`, "call_id", key, "tools", "[]")
	case "prog/" + hosted:
		return st.obj("type", `"program"`, "id", id, "call_id", key, "code", text)
	case "prog/" + served:
		return st.obj("type", `"program_output"`, "id", id, "call_id", key, "result", text)
	}
	return st.obj("type", `"code_interpreter_call"`, "id", id, "code", text)
}

func parseResponses(raw []byte) (element, error) {
	o := parse(raw)
	e := element{role: "assistant", raw: string(raw)}
	item := o.str("id")
	switch kind := o.str("type"); kind {
	case "message", "":
		e.role = o.str("role")
		if e.role == "developer" {
			e.role = "system"
		}
		if isString(o["content"]) {
			e.parts = []part{{kind: text, text: o.str("content"), item: item, raw: string(o["content"])}}
		}
		for _, c := range o.list("content") {
			b := parse(c)
			p := part{kind: image, item: item, raw: string(c)}
			if b.has("text") {
				p.kind, p.text = text, b.str("text")
			}
			e.parts = append(e.parts, p)
		}
	case "compaction":
		e.parts = []part{{kind: state, raw: string(raw)}}
	case "additional_tools", "configuration_update":
		e.role, e.parts = "system", []part{{kind: state, raw: string(raw)}}
	case "reasoning":
		e.parts = []part{{kind: thinking, sig: o.str("encrypted_content"), item: item, raw: string(raw)}}
	case "function_call":
		e.parts = []part{{
			kind: call, id: o.str("call_id"), name: o.str("name"), args: o.str("arguments"), item: item,
			raw: string(raw),
		}}
	case "function_call_output":
		e.role = "tool"
		p := part{kind: result, id: o.str("call_id"), text: o.str("output"), raw: string(raw)}
		if !isString(o["output"]) {
			var texts []string
			for _, c := range o.list("output") {
				if b := parse(c); b.has("text") {
					texts = append(texts, b.str("text"))
				}
			}
			p.text = strings.Join(texts, "\n")
		}
		e.parts = []part{p}
	case "mcp_approval_request":
		e.parts = []part{{kind: hosted, id: item, item: item, open: true, text: o.str("arguments"), raw: string(raw)}}
	case "mcp_approval_response":
		e.role, e.parts = "user", []part{{kind: served, id: o.str("approval_request_id"), raw: string(raw)}}
	case "tool_search_call", "program":
		said := o.str("code") + o.obj("arguments").str("q")
		e.parts = []part{{kind: hosted, id: o.str("call_id"), item: item, open: true, text: said, raw: string(raw)}}
	case "tool_search_output", "program_output":
		if kind == "tool_search_output" {
			e.role = "tool"
		}
		e.parts = []part{{kind: served, id: o.str("call_id"), item: item, text: o.str("result"), raw: string(raw)}}
	case "code_interpreter_call":
		e.parts = []part{{kind: hosted, id: item, item: item, text: o.str("code"), raw: string(raw)}}
	default:
		return e, fmt.Errorf("an item of type %q", kind)
	}
	return e, nil
}

func responsesReply(parts []part, u usage, stream bool) []byte {
	items := responsesItems(style{}, parts)
	response := func(status string, items []string, used string) string {
		return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"model":"m","error":null,"incomplete_details":null,"output":%s,"usage":%s}`,
			status, style{}.arr(items...), used)
	}
	used := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}`, u.in, u.out, u.in+u.out)
	if !stream {
		return []byte(response("completed", items, used))
	}
	var b strings.Builder
	n := 0
	send := func(kind, rest string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, rest)
		n++
	}
	send("response.created", `"response":`+response("in_progress", nil, "null"))
	for i, item := range items {
		at := fmt.Sprintf(`"output_index":%d,`, i)
		send("response.output_item.added", at+`"item":`+item)
		if p := parts[i]; p.kind == text {
			send("response.output_text.delta",
				at+fmt.Sprintf(`"item_id":%q,"content_index":0,"delta":%s`, p.item, style{}.str(p.text)))
		}
		send("response.output_item.done", at+`"item":`+item)
	}
	send("response.completed", `"response":`+response("completed", items, used))
	return []byte(b.String())
}

func readResponses(body []byte, stream bool) (parts []part, err error) {
	items, ended := parse(body).list("output"), !stream
	if stream {
		added := 0
		for _, e := range events(body) {
			switch e.str("type") {
			case "response.output_item.added":
				if string(e["output_index"]) != fmt.Sprint(added) {
					return nil, fmt.Errorf("item %d has the index %s", added, e["output_index"])
				}
				added++
			case "response.output_item.done":
				if at, _ := strconv.Atoi(string(e["output_index"])); at >= added || at != len(items) {
					return nil, fmt.Errorf("item %s is done, but %d came and %d were done", e["output_index"],
						added, len(items))
				}
				items = append(items, e["item"])
			case "response.completed":
				ended = true
				if n := len(e.obj("response").list("output")); n != len(items) || n != added {
					return nil, fmt.Errorf("%d items came, %d were done, %d are in the whole answer", added, len(items), n)
				}
			}
		}
	}
	for _, raw := range items {
		e, err := parseResponses(raw)
		if err != nil {
			return nil, err
		}
		parts = append(parts, e.parts...)
	}
	if !ended {
		return nil, errors.New("the stream has no end")
	}
	return parts, nil
}

func checkResponses(v *view) (bad []string) {
	say := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("item %d: ", i)+fmt.Sprintf(format, args...))
	}
	calls, done, asked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var items []string // of the answer that is gone through
	for i, e := range v.elements {
		if len(e.parts) == 0 || !slices.Contains([]string{"user", "assistant", "system", "tool"}, e.role) {
			say(i, "role %q, %d parts", e.role, len(e.parts))
			continue
		}
		if e.role != "assistant" {
			items = nil
		}
		p := e.parts[0]
		switch p.kind {
		case call:
			if calls[p.id] {
				say(i, "call %s comes twice", p.id)
			}
			calls[p.id] = true
		case result:
			if !calls[p.id] || done[p.id] {
				say(i, "an output of %s, which is not called before it or has one", p.id)
			}
			done[p.id] = true
		case hosted:
			asked[p.id] = p.open
			if p.item == "" && !strings.HasPrefix(p.id, "find_") {
				say(i, "%s without the id that it needs", p.raw)
			}
		case served:
			if !asked[p.id] {
				say(i, "an answer to %s, which nobody asks for before it", p.id)
			}
			delete(asked, p.id)
		case text:
			for id, open := range asked {
				if open && e.role == "user" {
					say(i, "the user speaks before %s is answered", id)
				}
			}
		}
		if e.role == "assistant" && p.item != "" {
			if r := v.said.reason[p.item]; r != "" && !slices.Contains(items, r) {
				say(i, "%s without its reasoning %s", p.item, r)
			}
			items = append(items, p.item)
		}
		if p.kind == thinking && (i+1 == len(v.elements) || v.elements[i+1].role != "assistant" ||
			v.elements[i+1].parts[0].kind == thinking) {
			say(i, "reasoning %s without an item behind it", p.item)
		} else if p.kind == thinking && !v.setup.loose && v.said.follows[p.sig] != known(v.elements[i+1].parts[0]) {
			say(i, "reasoning %s before another item than its own, %q", p.sig, v.said.follows[p.sig])
		}
	}
	for id := range calls {
		if !done[id] {
			say(len(v.elements), "no output of %s", id)
		}
	}
	if n := len(v.elements); n == 0 || v.elements[n-1].role == "assistant" {
		say(n-1, "there is nothing to answer")
	}
	return bad
}
