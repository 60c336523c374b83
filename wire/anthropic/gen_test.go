package anthropic

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen writes request bodies the way the worst client would: members in any order, space
// anywhere, odd numbers and escapes, unknown members, members twice. What it writes is
// always JSON with a messages array.
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

// member is a name and its value, both as JSON.
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
	var sb strings.Builder
	sb.WriteString("{" + g.space())
	for i, m := range ms {
		if i > 0 {
			sb.WriteString(g.space() + "," + g.space())
		}
		sb.WriteString(g.key(m.name) + g.space() + ":" + g.space() + m.value)
	}
	sb.WriteString(g.space() + "}")
	return sb.String()
}

// key writes a name, at times with an escape in it.
func (g *gen) key(name string) string {
	if g.chance(3) {
		return fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
	}
	return `"` + name + `"`
}

func (g *gen) array(items ...string) string {
	var sb strings.Builder
	sb.WriteString("[" + g.space())
	for i, it := range items {
		if i > 0 {
			sb.WriteString(g.space() + "," + g.space())
		}
		sb.WriteString(it)
	}
	return sb.String() + g.space() + "]"
}

func (g *gen) number() string {
	return pick(g, "0", "-0", "1", "1.0", "1E+2", "1e-7", "123456789012345678901234567890", "-1.50", "4096")
}

// str writes a string literal that is not blank.
func (g *gen) str() string {
	var sb strings.Builder
	sb.WriteString(`"w`)
	for range g.IntN(8) {
		sb.WriteString(pick(g, "word ", `\n`, `\u00e9`, `\/`, "é", "世界", `\ud83d`, `\ud83d\ude00`, `\"`, `\\`, "<&>",
			"\xff", `\u2028`, "😀", "cache_control", `{\"type\":\"text\"}`))
	}
	return sb.String() + `"`
}

// value writes any value.
func (g *gen) value(depth int) string {
	switch n := g.IntN(7); {
	case n == 0 && depth > 0:
		return g.object(member{"a", g.value(depth - 1)}, member{"content", g.value(depth - 1)})
	case n == 1 && depth > 0:
		return g.array(g.value(depth-1), g.value(depth-1))
	case n == 2:
		return g.number()
	case n == 3:
		return pick(g, "true", "false", "null")
	case n == 4:
		return `""`
	default:
		return g.str()
	}
}

func (g *gen) marker(ms []member) []member {
	if g.chance(8) {
		ms = append(ms, member{"cache_control", g.object(member{"type", `"ephemeral"`})})
	}
	return ms
}

func (g *gen) textBlock() string {
	return g.object(g.marker([]member{{"type", `"text"`}, {"text", g.str()}})...)
}

func (g *gen) imageBlock() string {
	return g.object(member{"type", `"image"`}, member{"source", g.object(
		member{"type", `"base64"`}, member{"media_type", `"image/png"`}, member{"data", `"aGVsbG8="`})})
}

func (g *gen) oddBlock() string {
	return pick(g,
		g.object(member{"type", `"document"`}, member{"source", g.value(2)}),
		g.object(member{"type", `"from_the_future"`}, member{"content", g.value(2)}),
		g.object(member{"type", g.value(1)}, member{"text", g.value(1)}),
		g.object(member{"type", `"text"`}, member{"text", g.number()}),
		g.value(1))
}

func (g *gen) result(id string) string {
	ms := []member{{"type", `"tool_result"`}, {"tool_use_id", `"` + id + `"`}}
	switch g.IntN(6) {
	case 0:
		ms = append(ms, member{"content", g.array(g.textBlock(), g.textBlock(), g.imageBlock())})
	case 1:
		ms = append(ms, member{"content", g.array(g.textBlock())})
	case 2: // no content at all
	case 3:
		ms = append(ms, member{
			"content",
			g.array(g.object(member{"type", `"tool_reference"`}, member{"tool_name", g.str()})),
		})
	default:
		ms = append(ms, member{"content", g.str()})
	}
	if g.chance(10) {
		ms = append(ms, member{"is_error", pick(g, "true", "false")})
	}
	return g.object(g.marker(ms)...)
}

// round writes an assistant message with calls and the user message that answers it.
func (g *gen) round() []string {
	var blocks, results []string
	if g.chance(40) {
		blocks = append(blocks, g.object(member{"type", `"thinking"`}, member{"thinking", g.str()},
			member{"signature", `"c2ln"`}))
	}
	if g.chance(10) {
		blocks = append(blocks, g.object(member{"type", `"redacted_thinking"`}, member{"data", `"ZGF0YQ=="`}))
	}
	if g.chance(50) {
		blocks = append(blocks, g.textBlock())
	}
	for range 1 + g.IntN(3) {
		g.calls++
		id := fmt.Sprintf("toolu_%d", g.calls)
		blocks = append(blocks, g.object(g.marker([]member{
			{"type", `"tool_use"`},
			{"id", `"` + id + `"`},
			{"name", `"run"`},
			{"input", g.object(member{"command", g.str()}, member{"cache_control", g.value(1)})},
		})...))
		results = append(results, g.result(id))
	}
	if g.chance(20) {
		results = append(results, g.textBlock())
	}
	return []string{
		g.object(member{"role", `"assistant"`}, member{"content", g.array(blocks...)}),
		g.object(member{"role", `"user"`}, member{"content", g.array(results...)}),
	}
}

func (g *gen) messages() []string {
	msgs := []string{g.object(member{"role", `"user"`}, member{"content", g.str()})}
	for range g.IntN(6) {
		switch g.IntN(6) {
		case 0:
			msgs = append(msgs,
				g.object(member{"role", `"user"`}, member{"content", g.array(g.textBlock(), g.imageBlock())}))
		case 1:
			msgs = append(msgs, g.object(member{"role", `"system"`}, member{"content", g.str()}))
		case 2:
			msgs = append(msgs,
				g.object(member{"role", `"user"`}, member{"content", g.array(g.oddBlock(), g.textBlock())}))
		default:
			msgs = append(msgs, g.round()...)
		}
	}
	if g.chance(3) {
		msgs = append(msgs, g.value(2))
	}
	return msgs
}

// body writes a whole request.
func (g *gen) body() []byte {
	ms := []member{{"model", `"claude-opus-5"`}, {"max_tokens", g.number()}, {"messages", g.array(g.messages()...)}}
	if g.chance(50) {
		ms = append(ms, member{"system", pick(g, g.str(), g.array(g.textBlock(), g.textBlock()), "null")})
	}
	if g.chance(50) {
		ms = append(ms, member{
			"tools",
			g.array(g.object(g.marker([]member{
				{"name", `"run"`},
				{"description", g.str()},
				{"input_schema", `{"type":"object"}`},
			})...)),
		})
	}
	if g.chance(30) {
		ms = append(ms, member{"stream", "true"})
	}
	if g.chance(30) {
		ms = append(ms, member{"temperature", g.number()}, member{"thinking", g.object(member{"type", `"adaptive"`})})
	}
	return []byte(g.space() + g.object(ms...) + g.space())
}
