//go:build !race

// The race detector makes pools forget at random.

package pleat_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
)

func TestCountingDoesNotAllocate(t *testing.T) {
	m, _ := pleat.DefaultModels().Lookup("gpt-5.4")
	text := strings.Repeat("The quick brown fox. ", 1000)
	escaped := pleat.Plain(strings.Repeat("line \"one\"\n", 1000)).Literal()
	for _, size := range []int{-1, 0} {
		tok := pleat.NewTokenizer(m, &pleat.TokenizerOptions{CacheSize: size})
		for name, block := range map[string]pleat.Block{
			"text":    pleat.Say(text),
			"short":   pleat.Say(text[:100]),
			"literal": pleat.Text{Text: pleat.Literal(`"` + text + `"`)},
			"escaped": pleat.Text{Text: pleat.Literal(escaped)},
			"call":    pleat.Call("id", "read", `{"path":"a"}`),
			"result":  pleat.Result("id", text),
		} {
			msg := pleat.NewMessage(pleat.RoleUser, block)
			tok.CountMessage(msg)
			// A collection may empty the pools in between; that is not the hot path.
			if n := testing.AllocsPerRun(20, func() { tok.CountMessage(msg) }); n >= 1 {
				t.Errorf("cache %d, %s: %v allocations", size, name, n)
			}
		}
	}
}
