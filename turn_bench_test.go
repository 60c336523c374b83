package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// grown makes a session with about so many tokens of history in rounds of about 500.
func grown(tb testing.TB, toks int) *pleat.Session {
	tb.Helper()
	s, err := pleat.OpenSession(context.Background(), store.NewMemory(), store.SessionKey{Session: "bench"},
		&pleat.Options{Budget: fold.Budget{Window: 8 << 20}, Tokens: tokens.NewTokenizer(model.Model{}, nil)})
	must(tb, err)
	must(tb, s.Append(context.Background(), transcript.User("Go on until it works. Never touch legacy/.")))
	for i := 0; int(s.Snapshot().Tokens) < toks; i++ {
		must(tb, s.Append(context.Background(), round(i)...))
	}
	return s
}

func round(i int) []transcript.Message {
	id := fmt.Sprint("call_", i)
	var out strings.Builder
	for line := range 40 {
		fmt.Fprintf(&out, "%4d\tfunc step%d_%d(ctx context.Context) error { return nil }\n", line, i, line)
	}
	return []transcript.Message{
		transcript.Assistant(
			transcript.Say("Next."),
			transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/f%d.go"}`, i%500)),
		),
		transcript.Results(transcript.Result(id, out.String())),
	}
}

// BenchmarkTurn is one more turn: a round appended, a view asked for. It costs the same
// whatever the history; the last line reports the ratio of 1M to 10k tokens.
func BenchmarkTurn(b *testing.B) {
	perTurn := make(map[int]time.Duration)
	for _, tokens := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			s := grown(b, tokens)
			var rounds [256][]transcript.Message // made while the clock stands
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%len(rounds) == 0 {
					b.StopTimer()
					for k := range rounds {
						rounds[k] = round(1<<20 + i + k)
					}
					b.StartTimer()
				}
				must(b, s.Append(context.Background(), rounds[i%len(rounds)]...))
				if _, err := s.View(context.Background(), pleat.Turn{}); err != nil {
					b.Fatal(err)
				}
			}
			perTurn[tokens] = b.Elapsed() / time.Duration(b.N)
			if base := perTurn[10_000]; base > 0 {
				b.ReportMetric(float64(perTurn[tokens])/float64(base), "x-10k")
			}
		})
	}
}
