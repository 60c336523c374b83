package anthropic

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
)

// gen writes request bodies. What it writes is always JSON with a messages array.
type gen struct {
	wiretest.Gen
	calls int
}

func newGen(seed uint64) *gen { return &gen{Gen: wiretest.NewGen(seed)} }

func (g *gen) marker(ms []string) []string {
	if g.Chance(8) {
		ms = append(ms, "cache_control", g.Object("type", `"ephemeral"`))
	}
	return ms
}

func (g *gen) textBlock() string {
	return g.Object(g.marker([]string{"type", `"text"`, "text", g.Text()})...)
}

func (g *gen) imageBlock() string {
	return g.Object("type", `"image"`, "source", g.Object(
		"type", `"base64"`, "media_type", `"image/png"`, "data", `"aGVsbG8="`))
}

func (g *gen) oddBlock() string {
	return g.Pick(
		g.Object("type", `"document"`, "source", g.Value(2)),
		g.Object("type", `"from_the_future"`, "content", g.Value(2)),
		g.Object("type", g.Value(1), "text", g.Value(1)),
		g.Object("type", `"text"`, "text", g.Number()),
		g.Value(1))
}

func (g *gen) result(id string) string {
	ms := []string{"type", `"tool_result"`, "tool_use_id", `"` + id + `"`}
	switch g.IntN(6) {
	case 0:
		ms = append(ms, "content", g.Array(g.textBlock(), g.textBlock(), g.imageBlock()))
	case 1:
		ms = append(ms, "content", g.Array(g.textBlock()))
	case 2: // no content at all
	case 3:
		ms = append(ms, "content",
			g.Array(g.Object("type", `"tool_reference"`, "tool_name", g.Text())))
	default:
		ms = append(ms, "content", g.Text())
	}
	if g.Chance(10) {
		ms = append(ms, "is_error", g.Pick("true", "false"))
	}
	return g.Object(g.marker(ms)...)
}

// round writes an assistant message with calls and the user message that answers it.
func (g *gen) round() []string {
	var blocks, results []string
	if g.Chance(40) {
		blocks = append(blocks, g.Object("type", `"thinking"`, "thinking", g.Text(),
			"signature", `"c2ln"`))
	}
	if g.Chance(10) {
		blocks = append(blocks, g.Object("type", `"redacted_thinking"`, "data", `"ZGF0YQ=="`))
	}
	if g.Chance(50) {
		blocks = append(blocks, g.textBlock())
	}
	for range 1 + g.IntN(3) {
		g.calls++
		id := fmt.Sprintf("toolu_%d", g.calls)
		blocks = append(blocks, g.Object(g.marker([]string{
			"type", `"tool_use"`,
			"id", `"` + id + `"`,
			"name", `"run"`,
			"input", g.Object("command", g.Text(), "cache_control", g.Value(1)),
		})...))
		results = append(results, g.result(id))
	}
	if g.Chance(20) {
		results = append(results, g.textBlock())
	}
	return []string{
		g.Object("role", `"assistant"`, "content", g.Array(blocks...)),
		g.Object("role", `"user"`, "content", g.Array(results...)),
	}
}

func (g *gen) messages() []string {
	msgs := []string{g.Object("role", `"user"`, "content", g.Text())}
	for range g.IntN(6) {
		switch g.IntN(6) {
		case 0:
			msgs = append(msgs,
				g.Object("role", `"user"`, "content", g.Array(g.textBlock(), g.imageBlock())))
		case 1:
			msgs = append(msgs, g.Object("role", `"system"`, "content", g.Text()))
		case 2:
			msgs = append(msgs,
				g.Object("role", `"user"`, "content", g.Array(g.oddBlock(), g.textBlock())))
		default:
			msgs = append(msgs, g.round()...)
		}
	}
	if g.Chance(3) {
		msgs = append(msgs, g.Value(2))
	}
	return msgs
}

// body writes a whole request.
func (g *gen) body() []byte {
	ms := []string{"model", `"claude-opus-5"`, "max_tokens", g.Number(), "messages", g.Array(g.messages()...)}
	if g.Chance(50) {
		ms = append(ms, "system", g.Pick(g.Text(), g.Array(g.textBlock(), g.textBlock()), "null"))
	}
	if g.Chance(50) {
		ms = append(ms, "tools",
			g.Array(g.Object(g.marker([]string{
				"name", `"run"`,
				"description", g.Text(),
				"input_schema", `{"type":"object"}`,
			})...)))
	}
	if g.Chance(30) {
		ms = append(ms, "stream", "true")
	}
	if g.Chance(30) {
		ms = append(ms, "temperature", g.Number(), "thinking", g.Object("type", `"adaptive"`))
	}
	return []byte(g.Space() + g.Object(ms...) + g.Space())
}
