package gemini

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
)

// gen writes request bodies. What it writes is always JSON with a contents array.
type gen struct {
	wiretest.Gen
	calls int
}

func newGen(seed uint64) *gen {
	g := &gen{Gen: wiretest.NewGen(seed)}
	g.Other = func(name string) string {
		var snake strings.Builder
		for _, r := range name {
			if r >= 'A' && r <= 'Z' {
				snake.WriteByte('_')
			}
			snake.WriteString(strings.ToLower(string(r)))
		}
		return snake.String()
	}
	return g
}

func (g *gen) signed(ms ...string) string {
	if g.Chance(40) {
		ms = append(ms, "thoughtSignature", g.Pick(`"c2ln"`, `"c2\u006cnAB=="`))
	}
	return g.Object(ms...)
}

func (g *gen) image() string {
	return g.Object("inlineData", g.Object("mimeType", `"image/png"`, "data", `"aGVsbG8="`))
}

func (g *gen) odd() string {
	return g.Pick(
		g.Object("executableCode", g.Value(2)),
		g.Object("fileData", g.Object("mimeType", `"application/pdf"`, "fileUri", g.Text())),
		g.Object("from_the_future", g.Value(2)), g.Object("text", "1"), g.Object("functionCall",
			g.Value(1)),
		g.Object("functionResponse",
			g.Object("name", g.Text(), "response", g.Value(1))), "{}", g.Value(1))
}

func (g *gen) response(id []string) string {
	ms := append([]string{"name", `"run"`}, id...)
	switch g.IntN(6) {
	case 0:
		ms = append(ms, "response", g.Object("output", g.Text(), "exit", "1"))
	case 1:
		ms = append(ms, "response", g.Object("error", g.Text()))
	case 2: // no response at all
	case 3:
		ms = append(ms, "response", g.Object("output", g.Text()), "parts", g.Array(g.image()))
	default:
		ms = append(ms, "response", g.Object("output", g.Text()))
	}
	return g.Object("functionResponse", g.Object(ms...))
}

// round writes a content with calls and the one that answers it.
func (g *gen) round() []string {
	var parts, results []string
	if g.Chance(40) {
		parts = append(parts, g.signed("thought", "true", "text", g.Text()))
	}
	if g.Chance(50) {
		parts = append(parts, g.signed("text", g.Text()))
	}
	for range 1 + g.IntN(3) {
		var id []string
		if g.calls++; g.Chance(50) {
			id = []string{"id", fmt.Sprintf(`"c%d"`, g.calls)}
		}
		ms := append([]string{"name", `"run"`}, id...)
		if g.Chance(90) {
			ms = append(ms, "args", g.Object("command", g.Text()))
		}
		parts = append(parts, g.signed("functionCall", g.Object(ms...)))
		results = append(results, g.response(id))
	}
	if g.Chance(20) {
		results = append(results, g.signed("text", g.Text()), g.image())
	}
	return []string{
		g.Object("role", `"model"`, "parts", g.Array(parts...)),
		g.Object("role", g.Pick(`"user"`, `"function"`), "parts", g.Array(results...)),
	}
}

// body writes a whole request.
func (g *gen) body() []byte {
	msgs := []string{g.Object("parts", g.Array(g.Object("text", g.Text())))}
	for range g.IntN(6) {
		switch g.IntN(6) {
		case 0:
			msgs = append(msgs, g.Object("role", `"user"`,
				"parts", g.Array(g.Object("text", g.Text()), g.image())))
		case 1:
			msgs = append(msgs, g.Object("role", `"user"`,
				"parts", g.Array(g.odd(), g.Object("text", g.Text()))))
		case 2:
			msgs = append(msgs, g.Pick(g.Object("role", `"model"`),
				g.Object("role", `"model"`, "parts", g.Value(1)), g.Value(2)))
		default:
			msgs = append(msgs, g.round()...)
		}
	}
	ms := []string{"contents", g.Array(msgs...)}
	if g.Chance(50) {
		ms = append(ms, "systemInstruction",
			g.Pick(g.Object("parts", g.Array(g.Object("text", g.Text()))), "null", g.Text()))
	}
	if g.Chance(50) {
		run := g.Object("name", `"run"`, "description", g.Text(),
			"parametersJsonSchema", `{"type":"object"}`)
		ms = append(ms, "tools",
			g.Array(g.Object("functionDeclarations", g.Array(run)), `{"googleSearch":{}}`))
	}
	if g.Chance(30) {
		ms = append(ms, "generationConfig", g.Object("maxOutputTokens", "4096"),
			"cachedContent", `"cachedContents/x"`)
	}
	return []byte(g.Space() + g.Object(ms...) + g.Space())
}
