package pleat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// BenchmarkSync is one more turn of a program that hands over its whole history: a round more is
// taken in. "folded" has a view with a page, "window" hands over the newest half, and "read" messages that were
// read anew, in other memory.
func BenchmarkSync(b *testing.B) {
	for _, toks := range []int{10_000, 200_000, 1_000_000} {
		for _, how := range []string{"plain", "folded", "window", "read"} {
			b.Run(fmt.Sprint(toks, "/", how), func(b *testing.B) {
				ctx := context.Background()
				window := 8 << 20
				if how == "folded" {
					window = max(9_000, toks/5)
				}
				s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "bench"}, &pleat.Options{
					Budget: fold.Budget{Window: window}, Tokens: tokens.NewTokenizer(model.Model{}, nil),
				})
				must(b, err)
				history := []pleat.Message{pleat.User("Go on until it works. Never touch legacy/.")}
				n := 0
				for ; n < toks/500; n++ {
					history = append(history, round(n)...)
				}
				_, err = s.Sync(ctx, history)
				must(b, err)
				if how == "folded" {
					view(b, s)
				}
				if how == "read" {
					for i, m := range history {
						data, err := json.Marshal(m)
						must(b, err)
						must(b, json.Unmarshal(data, &history[i]))
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					history = append(history, round(n)...)
					n++
					given := history
					if how == "window" {
						given = history[len(history)/2&^1+1:]
					}
					_, err := s.Sync(ctx, given)
					must(b, err)
				}
			})
		}
	}
}
