//go:build !race

// The race detector makes pools forget at random.

package tokens_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

func TestCountingDoesNotAllocate(t *testing.T) {
	m, _ := model.DefaultModels().Lookup("gpt-5.4")
	text := strings.Repeat("The quick brown fox. ", 1000)
	escaped := transcript.Plain(strings.Repeat("line \"one\"\n", 1000)).Literal()
	for _, size := range []int{-1, 0} {
		tok := tokens.NewTokenizer(m, &tokens.Options{CacheSize: size})
		for name, block := range map[string]transcript.Block{
			"text":    transcript.Say(text),
			"short":   transcript.Say(text[:100]),
			"literal": transcript.Text{Text: transcript.Literal(`"` + text + `"`)},
			"escaped": transcript.Text{Text: transcript.Literal(escaped)},
			"call":    transcript.Call("id", "read", `{"path":"a"}`),
			"result":  transcript.Result("id", text),
		} {
			msg := transcript.NewMessage(transcript.RoleUser, block)
			tok.CountMessage(msg)
			// A collection may empty the pools in between; that is not the hot path.
			if n := testing.AllocsPerRun(20, func() { tok.CountMessage(msg) }); n >= 1 {
				t.Errorf("cache %d, %s: %v allocations", size, name, n)
			}
		}
	}
}
