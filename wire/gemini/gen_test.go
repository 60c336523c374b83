package gemini

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen writes request bodies the way the worst client would: members in any order and under
// either name, space anywhere, odd numbers and escapes, unknown members, members twice. What
// it writes is always JSON with a contents array.
type gen struct {
	*rand.Rand
	calls int
}

func newGen(seed uint64) *gen { return &gen{Rand: rand.New(rand.NewPCG(seed, 7))} }

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *gen, list ...T) T { return list[g.IntN(len(list))] }

func (g *gen) space() string {
	if g.chance(70) {
		return ""
	}
	return pick(g, " ", "\n", "\t", "\r\n  ", "  ")
}

// member is a name and its value as JSON.
type member struct{ name, value string }

// object writes members in any order, with unknown ones and at times one twice.
func (g *gen) object(ms ...member) string {
	if g.chance(15) {
		ms = append(ms, member{fmt.Sprintf("x_%d", g.IntN(5)), g.value(2)})
	}
	g.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	if g.chance(4) && len(ms) > 0 { // twice: the last one counts, so the first may be anything
		ms = append([]member{{pick(g, ms...).name, g.value(1)}}, ms...)
	}
	var out []string
	for _, m := range ms {
		out = append(out, g.key(m.name)+g.space()+":"+g.space()+m.value)
	}
	return "{" + g.space() + strings.Join(out, g.space()+","+g.space()) + g.space() + "}"
}

// key writes a name, at times with an escape in it or in its other form.
func (g *gen) key(name string) string {
	if g.chance(3) {
		return fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
	}
	if g.chance(10) {
		var snake strings.Builder
		for _, r := range name {
			if r >= 'A' && r <= 'Z' {
				snake.WriteByte('_')
			}
			snake.WriteString(strings.ToLower(string(r)))
		}
		name = snake.String()
	}
	return `"` + name + `"`
}

func (g *gen) array(items ...string) string {
	return "[" + g.space() + strings.Join(items, g.space()+","+g.space()) + g.space() + "]"
}

// str writes a string literal that is not empty.
func (g *gen) str() string {
	var sb strings.Builder
	sb.WriteString(`"w`)
	for range g.IntN(8) {
		sb.WriteString(pick(g, "word ", `\n`, `\u00e9`, `\/`, "é", "世界", `\ud83d`, `\ud83d\ude00`, `\"`, `\\`, "<&>",
			"\xff", `\u2028`, "😀", `{\"text\":\"x\"}`))
	}
	return sb.String() + `"`
}

// value writes any value.
func (g *gen) value(depth int) string {
	switch n := g.IntN(7); {
	case n == 0 && depth > 0:
		return g.object(member{"a", g.value(depth - 1)}, member{"parts", g.value(depth - 1)})
	case n == 1 && depth > 0:
		return g.array(g.value(depth-1), g.value(depth-1))
	case n == 2:
		return pick(g, "0", "-0", "1.0", "1E+2", "123456789012345678901234567890", "-1.50")
	case n == 3:
		return pick(g, "true", "false", "null")
	case n == 4:
		return `""`
	default:
		return g.str()
	}
}

func (g *gen) signed(ms ...member) string {
	if g.chance(40) {
		ms = append(ms, member{"thoughtSignature", pick(g, `"c2ln"`, `"c2\u006cnAB=="`)})
	}
	return g.object(ms...)
}

func (g *gen) image() string {
	return g.object(member{"inlineData", g.object(member{"mimeType", `"image/png"`}, member{"data", `"aGVsbG8="`})})
}

func (g *gen) odd() string {
	return pick(g,
		g.object(member{"executableCode", g.value(2)}),
		g.object(member{"fileData", g.object(member{"mimeType", `"application/pdf"`}, member{"fileUri", g.str()})}),
		g.object(member{"from_the_future", g.value(2)}), g.object(member{"text", "1"}), g.object(member{
			"functionCall",
			g.value(1),
		}),
		g.object(member{
			"functionResponse",
			g.object(member{"name", g.str()}, member{"response", g.value(1)}),
		}), "{}", g.value(1))
}

func (g *gen) response(id []member) string {
	ms := append([]member{{"name", `"run"`}}, id...)
	switch g.IntN(6) {
	case 0:
		ms = append(ms, member{"response", g.object(member{"output", g.str()}, member{"exit", "1"})})
	case 1:
		ms = append(ms, member{"response", g.object(member{"error", g.str()})})
	case 2: // no response at all
	case 3:
		ms = append(ms, member{"response", g.object(member{"output", g.str()})}, member{"parts", g.array(g.image())})
	default:
		ms = append(ms, member{"response", g.object(member{"output", g.str()})})
	}
	return g.object(member{"functionResponse", g.object(ms...)})
}

// round writes a content with calls and the one that answers it.
func (g *gen) round() []string {
	var parts, results []string
	if g.chance(40) {
		parts = append(parts, g.signed(member{"thought", "true"}, member{"text", g.str()}))
	}
	if g.chance(50) {
		parts = append(parts, g.signed(member{"text", g.str()}))
	}
	for range 1 + g.IntN(3) {
		var id []member
		if g.calls++; g.chance(50) {
			id = []member{{"id", fmt.Sprintf(`"c%d"`, g.calls)}}
		}
		ms := append([]member{{"name", `"run"`}}, id...)
		if g.chance(90) {
			ms = append(ms, member{"args", g.object(member{"command", g.str()})})
		}
		parts = append(parts, g.signed(member{"functionCall", g.object(ms...)}))
		results = append(results, g.response(id))
	}
	if g.chance(20) {
		results = append(results, g.signed(member{"text", g.str()}), g.image())
	}
	return []string{
		g.object(member{"role", `"model"`}, member{"parts", g.array(parts...)}),
		g.object(member{"role", pick(g, `"user"`, `"function"`)}, member{"parts", g.array(results...)}),
	}
}

// body writes a whole request.
func (g *gen) body() []byte {
	msgs := []string{g.object(member{"parts", g.array(g.object(member{"text", g.str()}))})}
	for range g.IntN(6) {
		switch g.IntN(6) {
		case 0:
			msgs = append(msgs, g.object(member{"role", `"user"`},
				member{"parts", g.array(g.object(member{"text", g.str()}), g.image())}))
		case 1:
			msgs = append(msgs, g.object(member{"role", `"user"`},
				member{"parts", g.array(g.odd(), g.object(member{"text", g.str()}))}))
		case 2:
			msgs = append(msgs, pick(g, g.object(member{"role", `"model"`}),
				g.object(member{"role", `"model"`}, member{"parts", g.value(1)}), g.value(2)))
		default:
			msgs = append(msgs, g.round()...)
		}
	}
	ms := []member{{"contents", g.array(msgs...)}}
	if g.chance(50) {
		ms = append(ms, member{
			"systemInstruction",
			pick(g, g.object(member{"parts", g.array(g.object(member{"text", g.str()}))}), "null", g.str()),
		})
	}
	if g.chance(50) {
		run := g.object(member{"name", `"run"`}, member{"description", g.str()},
			member{"parametersJsonSchema", `{"type":"object"}`})
		ms = append(ms, member{
			"tools",
			g.array(g.object(member{"functionDeclarations", g.array(run)}), `{"googleSearch":{}}`),
		})
	}
	if g.chance(30) {
		ms = append(ms, member{"generationConfig", g.object(member{"maxOutputTokens", "4096"})},
			member{"cachedContent", `"cachedContents/x"`})
	}
	return []byte(g.space() + g.object(ms...) + g.space())
}
