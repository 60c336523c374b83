package openai

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen makes request bodies the way clients never agree on: any key order, any spacing,
// odd escapes and numbers, unknown members, duplicate keys.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 7))} }

// A node is an obj, an arr, or raw JSON.
type (
	node any
	kv   struct {
		key string
		val node
	}
	obj []kv
	arr []node
	raw string
)

func (g gen) one(list ...string) string { return list[g.IntN(len(list))] }
func (g gen) chance(p float64) bool     { return g.Float64() < p }

// str is a random string literal.
func (g gen) str() raw {
	var sb strings.Builder
	sb.WriteByte('"')
	for range g.IntN(6) {
		sb.WriteString(g.one("word ", "größer ", `\u00e9`, `\/path\/to`, `\n`, `\t`, `\"quoted\"`, `\\`, `\ud83d`,
			`\udc00x`,
			`\ud83d\ude00`, "😀", "日本", "{\\\"a\\\":1}", "<&>", `\u0000`, "\x7f", "\xff", "]},", "data:",
			strings.Repeat("x", g.IntN(50))))
	}
	sb.WriteString(`."`) // never empty
	return raw(sb.String())
}

func (g gen) text(s string) raw {
	if !g.chance(0.1) || s == "" {
		return raw(`"` + s + `"`)
	}
	return raw(fmt.Sprintf(`"\u%04x%s"`, s[0], s[1:]))
}

func (g gen) junk() node {
	switch g.IntN(7) {
	case 0:
		return raw(g.one("1.0", "1E+2", "-0", "123456789012345678901234567890", "0.10", "1e-7"))
	case 1:
		return raw(g.one("true", "false", "null"))
	case 2:
		return arr{g.str(), raw("{ }"), raw("[ [ ] ]")}
	case 3:
		return obj{{"content", g.str()}, {"role", raw("7")}, {"messages", raw("[1]")}}
	}
	return g.str()
}

func (g gen) space() string {
	if g.chance(0.7) {
		return ""
	}
	return g.one(" ", "\n", "\t", "\r\n  ", "  ")
}

// print writes a node; the members of objects are shuffled, and some get company.
func (g gen) print(sb *strings.Builder, n node) {
	switch n := n.(type) {
	case raw:
		sb.WriteString(string(n))
	case arr:
		sb.WriteString("[" + g.space())
		for i, e := range n {
			if i > 0 {
				sb.WriteString("," + g.space())
			}
			g.print(sb, e)
			sb.WriteString(g.space())
		}
		sb.WriteString("]")
	case obj:
		members := append(obj(nil), n...)
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		var all obj
		for _, m := range members {
			if g.chance(0.05) {
				all = append(all, kv{m.key, g.junk()}) // a duplicate before the one that counts
			}
			if g.chance(0.05) {
				all = append(all, kv{g.one("x_unknown", "ünknown", "metadata", ""), g.junk()})
			}
			all = append(all, m)
		}
		sb.WriteString("{" + g.space())
		for i, m := range all {
			if i > 0 {
				sb.WriteString("," + g.space())
			}
			g.print(sb, g.text(m.key))
			sb.WriteString(g.space() + ":" + g.space())
			g.print(sb, m.val)
			sb.WriteString(g.space())
		}
		sb.WriteString("}")
	}
}

func (g gen) body(n node) []byte {
	var sb strings.Builder
	sb.WriteString(g.space())
	g.print(&sb, n)
	sb.WriteString(g.space())
	return []byte(sb.String())
}

func (g gen) chatContent(pictures bool) node {
	if g.chance(0.5) {
		return g.str()
	}
	list := arr{obj{{"type", raw(`"text"`)}, {"text", g.str()}}}
	for range g.IntN(3) {
		switch {
		case pictures && g.chance(0.3):
			list = append(list, obj{
				{"type", raw(`"image_url"`)},
				{"image_url", obj{{"url", g.text(`data:image/png;base64,iVBOR\/w0=`)}, {"detail", raw(`"low"`)}}},
			})
		case pictures && g.chance(0.2):
			list = append(list, obj{{"type", raw(`"input_audio"`)}, {"input_audio", obj{{"data", g.str()}}}})
		default:
			list = append(list, obj{{"type", raw(`"text"`)}, {"text", g.str()}})
		}
	}
	return list
}

// chat is a legal Chat Completions request.
func (g gen) chat() []byte {
	msgs := arr{obj{{"role", raw(`"user"`)}, {"content", g.chatContent(true)}}}
	if g.chance(0.5) {
		msgs = append(arr{obj{{"role", g.text("system")}, {"content", g.chatContent(false)}}}, msgs...)
	}
	for range g.IntN(6) {
		msgs = append(msgs, g.chatTurn()...)
	}
	body := obj{
		{"model", raw(`"gpt-x"`)},
		{"messages", msgs},
		{"stream", raw("true")},
		{"max_completion_tokens", raw("1024")},
	}
	if g.chance(0.7) {
		body = append(body, kv{"tools", arr{obj{
			{"type", raw(`"function"`)},
			{
				"function",
				obj{{"name", raw(`"run"`)}, {"description", g.str()}, {"parameters", obj{{"type", raw(`"object"`)}}}},
			},
		}}})
	}
	return g.body(body)
}

func (g gen) chatTurn() arr {
	if g.chance(0.3) {
		return arr{
			obj{{"role", g.text("assistant")}, {"content", g.chatContent(false)}},
			obj{{"role", raw(`"user"`)}, {"content", g.str()}},
		}
	}
	var calls, results arr
	for i := range 1 + g.IntN(3) {
		id := raw(fmt.Sprintf(`"call_%d_%d"`, g.IntN(1e9), i))
		if g.chance(0.2) {
			calls = append(calls, obj{
				{"id", id},
				{"type", raw(`"custom"`)},
				{"custom", obj{{"name", raw(`"patch"`)}, {"input", g.str()}}},
			})
		} else {
			calls = append(calls, obj{
				{"id", id},
				{"type", raw(`"function"`)},
				{"function", obj{{"name", raw(`"run"`)}, {"arguments", g.str()}}},
			})
		}
		results = append(results, obj{{"role", raw(`"tool"`)}, {"tool_call_id", id}, {"content", g.chatContent(false)}})
	}
	g.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	m := obj{{"role", g.text("assistant")}, {"tool_calls", calls}}
	if g.chance(0.5) {
		m = append(m, kv{"content", raw("null")})
	} else {
		m = append(m, kv{"content", g.chatContent(false)})
	}
	if g.chance(0.3) {
		m = append(m, kv{"reasoning_content", g.str()})
	}
	return append(arr{m}, results...)
}

func (g gen) itemContent(text string) node {
	if g.chance(0.4) {
		return g.str()
	}
	list := arr{obj{{"type", g.text(text)}, {"text", g.str()}}}
	for range g.IntN(3) {
		if text == "input_text" && g.chance(0.4) {
			list = append(list,
				obj{{"type", raw(`"input_image"`)}, {"image_url", raw(`"data:image/jpeg;base64,AAAA"`)}})
		} else {
			list = append(list, obj{{"type", g.text(text)}, {"text", g.str()}})
		}
	}
	return list
}

// responses is a legal Responses request.
func (g gen) responses() []byte {
	var items arr
	message := func(role, text string) obj {
		m := obj{{"role", g.text(role)}, {"content", g.itemContent(text)}}
		if g.chance(0.6) {
			m = append(m, kv{"type", raw(`"message"`)})
		}
		return m
	}
	items = append(items, message("user", "input_text"))
	for turn := range g.IntN(6) {
		id := func(prefix string) raw { return raw(fmt.Sprintf(`"%s_%d%d"`, prefix, turn, g.IntN(1e9))) }
		if g.chance(0.7) {
			items = append(items, obj{
				{"type", raw(`"reasoning"`)},
				{"id", id("rs")},
				{"summary", arr{}},
				{"encrypted_content", g.str()},
			})
		}
		var outputs arr
		for i := range g.IntN(3) {
			callID := raw(fmt.Sprintf(`"call_%d_%d_%d"`, turn, i, g.IntN(1e9)))
			call, output := g.call(callID, id)
			items, outputs = append(items, call), append(outputs, output)
		}
		m := message("assistant", "output_text")
		items = append(items, append(m, kv{"id", id("msg")}))
		items = append(items, outputs...)
		if g.chance(0.3) {
			items = append(items, obj{{"type", raw(`"compaction"`)}, {"id", id("cmp")}, {"encrypted_content", g.str()}})
		}
		items = append(items, message("user", "input_text"))
	}
	return g.body(obj{
		{"model", raw(`"gpt-x"`)},
		{"input", items},
		{"store", raw("false")},
		{"instructions", g.str()},
		{
			"tools",
			arr{
				obj{{"type", raw(`"function"`)}, {"name", raw(`"run"`)}, {"parameters", obj{}}},
				obj{{"type", raw(`"web_search"`)}},
			},
		},
	})
}

func (g gen) call(callID raw, id func(string) raw) (call, output obj) {
	switch g.IntN(4) {
	case 0:
		return obj{
				{"type", raw(`"custom_tool_call"`)},
				{"id", id("ctc")},
				{"call_id", callID},
				{"name", raw(`"patch"`)},
				{"input", g.str()},
			},
			obj{{"type", raw(`"custom_tool_call_output"`)}, {"call_id", callID}, {"output", g.str()}}
	case 1:
		return obj{
				{"type", raw(`"shell_call"`)},
				{"id", id("sh")},
				{"call_id", callID},
				{"action", obj{{"commands", arr{g.str()}}}},
			},
			obj{
				{"type", raw(`"shell_call_output"`)},
				{"call_id", callID},
				{
					"output",
					arr{
						obj{
							{"stdout", g.str()},
							{"stderr", raw(`""`)},
							{"outcome", raw(`{"type":"exit","exit_code":3}`)},
						},
					},
				},
			}
	}
	return obj{
			{"type", raw(`"function_call"`)},
			{"id", id("fc")},
			{"call_id", callID},
			{"name", raw(`"run"`)},
			{"arguments", g.str()},
		},
		obj{{"type", raw(`"function_call_output"`)}, {"call_id", callID}, {"output", g.itemContent("input_text")}}
}
