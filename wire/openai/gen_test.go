package openai

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
)

// gen makes legal request bodies the way clients never agree on.
type gen struct{ wiretest.Gen }

func newGen(seed uint64) gen { return gen{wiretest.NewGen(seed)} }

// word writes a literal, at times with an escape in it.
func (g gen) word(s string) string {
	if !g.Chance(10) {
		return `"` + s + `"`
	}
	return fmt.Sprintf(`"\u%04x%s"`, s[0], s[1:])
}

func (g gen) part(kind string) string { return g.Object("type", g.word(kind), "text", g.Text()) }

func (g gen) chatContent(pictures bool) string {
	if g.Chance(50) {
		return g.Text()
	}
	list := []string{g.part("text")}
	for range g.IntN(3) {
		switch {
		case pictures && g.Chance(30):
			url := g.Object("url", g.word(`data:image/png;base64,iVBOR\/w0=`), "detail", `"low"`)
			list = append(list, g.Object("type", `"image_url"`, "image_url", url))
		case pictures && g.Chance(20):
			list = append(list, g.Object("type", `"input_audio"`, "input_audio", g.Object("data", g.Text())))
		default:
			list = append(list, g.part("text"))
		}
	}
	return g.Array(list...)
}

// body writes a whole request.
func (g gen) body(members ...string) []byte {
	return []byte(g.Space() + g.Object(append([]string{"model", `"gpt-x"`}, members...)...) + g.Space())
}

// chat is a Chat Completions request.
func (g gen) chat() []byte {
	msgs := []string{g.Object("role", `"user"`, "content", g.chatContent(true))}
	if g.Chance(50) {
		msgs = append([]string{g.Object("role", g.word("system"), "content", g.chatContent(false))}, msgs...)
	}
	for range g.IntN(6) {
		msgs = append(msgs, g.chatTurn()...)
	}
	body := []string{"messages", g.Array(msgs...), "stream", "true", "max_completion_tokens", "1024"}
	if g.Chance(70) {
		run := g.Object("name", `"run"`, "description", g.Text(), "parameters", g.Object("type", `"object"`))
		body = append(body, "tools", g.Array(g.Object("type", `"function"`, "function", run)))
	}
	return g.body(body...)
}

func (g gen) chatTurn() []string {
	if g.Chance(30) {
		return []string{
			g.Object("role", g.word("assistant"), "content", g.chatContent(false)),
			g.Object("role", `"user"`, "content", g.Text()),
		}
	}
	var calls, results []string
	for i := range 1 + g.IntN(3) {
		id := fmt.Sprintf(`"call_%d_%d"`, g.IntN(1e9), i)
		kind, call := `"function"`, []string{"function", g.Object("name", `"run"`, "arguments", g.Text())}
		if g.Chance(20) {
			kind, call = `"custom"`, []string{"custom", g.Object("name", `"patch"`, "input", g.Text())}
		}
		calls = append(calls, g.Object(append(call, "id", id, "type", kind)...))
		results = append(results, g.Object("role", `"tool"`, "tool_call_id", id, "content", g.chatContent(false)))
	}
	g.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	m := []string{"role", g.word("assistant"), "tool_calls", g.Array(calls...)}
	if g.Chance(50) {
		m = append(m, "content", "null")
	} else {
		m = append(m, "content", g.chatContent(false))
	}
	if g.Chance(30) {
		m = append(m, "reasoning_content", g.Text())
	}
	return append([]string{g.Object(m...)}, results...)
}

func (g gen) itemContent(kind string) string {
	if g.Chance(40) {
		return g.Text()
	}
	list := []string{g.part(kind)}
	for range g.IntN(3) {
		if kind == "input_text" && g.Chance(40) {
			list = append(list, g.Object("type", `"input_image"`, "image_url", `"data:image/jpeg;base64,AAAA"`))
		} else {
			list = append(list, g.part(kind))
		}
	}
	return g.Array(list...)
}

// responses is a Responses request.
func (g gen) responses() []byte {
	message := func(role, kind string, more ...string) string {
		m := append([]string{"role", g.word(role), "content", g.itemContent(kind)}, more...)
		if g.Chance(60) {
			m = append(m, "type", `"message"`)
		}
		return g.Object(m...)
	}
	items := []string{message("user", "input_text")}
	for turn := range g.IntN(6) {
		id := func(prefix string) string { return fmt.Sprintf(`"%s_%d%d"`, prefix, turn, g.IntN(1e9)) }
		if g.Chance(70) {
			items = append(items, g.Object("type", `"reasoning"`, "id", id("rs"), "summary", "[]",
				"encrypted_content", g.Text()))
		}
		var outputs []string
		for i := range g.IntN(3) {
			call, output := g.call(fmt.Sprintf(`"call_%d_%d_%d"`, turn, i, g.IntN(1e9)), id)
			items, outputs = append(items, call), append(outputs, output)
		}
		items = append(items, message("assistant", "output_text", "id", id("msg")))
		items = append(items, outputs...)
		if g.Chance(30) {
			items = append(items, g.Object("type", `"compaction"`, "id", id("cmp"), "encrypted_content", g.Text()))
		}
		items = append(items, message("user", "input_text"))
	}
	run := g.Object("type", `"function"`, "name", `"run"`, "parameters", "{}")
	return g.body("input", g.Array(items...), "store", "false", "instructions", g.Text(),
		"tools", g.Array(run, g.Object("type", `"web_search"`)))
}

func (g gen) call(callID string, id func(string) string) (call, output string) {
	item := func(kind string, more ...string) string {
		return g.Object(append([]string{"type", `"` + kind + `"`, "call_id", callID}, more...)...)
	}
	switch g.IntN(4) {
	case 0:
		return item("custom_tool_call", "id", id("ctc"), "name", `"patch"`, "input", g.Text()),
			item("custom_tool_call_output", "output", g.Text())
	case 1:
		out := g.Object("stdout", g.Text(), "stderr", `""`, "outcome", `{"type":"exit","exit_code":3}`)
		return item("shell_call", "id", id("sh"), "action", g.Object("commands", g.Array(g.Text()))),
			item("shell_call_output", "output", g.Array(out))
	}
	return item("function_call", "id", id("fc"), "name", `"run"`, "arguments", g.Text()),
		item("function_call_output", "output", g.itemContent("input_text"))
}
