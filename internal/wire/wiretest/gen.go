package wiretest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Gen writes JSON the way the worst client would: members in any order, space anywhere,
// odd numbers and escapes, unknown members, members twice.
type Gen struct {
	*rand.Rand
	Other func(name string) string // another form of a name; nil: there is none
}

// NewGen returns the generator with a seed.
func NewGen(seed uint64) Gen { return Gen{Rand: rand.New(rand.NewPCG(seed, 7))} }

// Chance is true in so many of a hundred cases.
func (g Gen) Chance(percent int) bool { return g.IntN(100) < percent }

// Pick returns one of the list.
func (g Gen) Pick(list ...string) string { return list[g.IntN(len(list))] }

// Space is white space, mostly none.
func (g Gen) Space() string {
	if g.Chance(70) {
		return ""
	}
	return g.Pick(" ", "\n", "\t", "\r\n  ", "  ")
}

// Object writes members, each a name and its JSON, in any order, with unknown ones and at
// times one twice.
func (g Gen) Object(members ...string) string {
	var names, list []string
	if g.Chance(15) {
		members = append(members, fmt.Sprintf("x_%d", g.IntN(5)), g.Value(2))
	}
	for i := 0; i < len(members); i += 2 {
		names = append(names, members[i])
		list = append(list, g.key(members[i])+g.Space()+":"+g.Space()+members[i+1])
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if g.Chance(4) && len(list) > 0 { // twice: the last one counts, so the first may be anything
		list = append([]string{g.key(g.Pick(names...)) + ":" + g.Value(1)}, list...)
	}
	return "{" + g.Space() + strings.Join(list, g.Space()+","+g.Space()) + g.Space() + "}"
}

// key writes a name, at times with an escape in it or in its other form.
func (g Gen) key(name string) string {
	if g.Chance(3) {
		return fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
	}
	if g.Other != nil && g.Chance(10) {
		name = g.Other(name)
	}
	return `"` + name + `"`
}

// Array writes items.
func (g Gen) Array(items ...string) string {
	return "[" + g.Space() + strings.Join(items, g.Space()+","+g.Space()) + g.Space() + "]"
}

// Number writes a number.
func (g Gen) Number() string {
	return g.Pick("0", "-0", "1", "1.0", "1E+2", "1e-7", "123456789012345678901234567890", "-1.50", "4096")
}

// Text writes a string literal that is not blank.
func (g Gen) Text() string {
	var sb strings.Builder
	sb.WriteString(`"w`)
	for range g.IntN(8) {
		sb.WriteString(g.Pick("word ", `\n`, `\u00e9`, `\/`, "é", "世界", `\ud83d`, `\ud83d\ude00`, `\"`, `\\`, "<&>",
			"\xff", `\u2028`, "😀", "cache_control", `{\"type\":\"text\"}`))
	}
	return sb.String() + `"`
}

// Value writes any value.
func (g Gen) Value(depth int) string {
	switch n := g.IntN(7); {
	case n == 0 && depth > 0:
		return g.Object("a", g.Value(depth-1), g.Pick("content", "parts"), g.Value(depth-1))
	case n == 1 && depth > 0:
		return g.Array(g.Value(depth-1), g.Value(depth-1))
	case n == 2:
		return g.Number()
	case n == 3:
		return g.Pick("true", "false", "null")
	case n == 4:
		return `""`
	default:
		return g.Text()
	}
}
