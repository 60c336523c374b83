package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
)

// grown makes a session with about so many tokens of history in rounds of about 500.
func grown(tb testing.TB, tokens int) *pleat.Session {
	tb.Helper()
	s, err := pleat.OpenSession(context.Background(), pleat.NewMemStore(), pleat.SessionKey{Session: "bench"},
		&pleat.Options{Budget: pleat.Budget{Window: 8 << 20}, Tokens: pleat.NewTokenizer(pleat.Model{}, nil)})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Append(context.Background(), pleat.User("Go on until it works. Never touch legacy/.")); err != nil {
		tb.Fatal(err)
	}
	for i := 0; s.Snapshot().Tokens < tokens; i++ {
		round(tb, s, i)
	}
	return s
}

func round(tb testing.TB, s *pleat.Session, i int) {
	id := fmt.Sprint("call_", i)
	var out strings.Builder
	for line := range 40 {
		fmt.Fprintf(&out, "%4d\tfunc step%d_%d(ctx context.Context) error { return nil }\n", line, i, line)
	}
	err := s.Append(context.Background(),
		pleat.Assistant(pleat.Say("Next."), pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"src/f%d.go"}`, i%500))),
		pleat.Results(pleat.Result(id, out.String())))
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkTurn is one more turn: a round appended, a view asked for. It costs the same
// whatever the history; the last line reports the ratio of 1M to 10k tokens.
func BenchmarkTurn(b *testing.B) {
	perTurn := make(map[int]time.Duration)
	for _, tokens := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			s := grown(b, tokens)
			i := 1 << 20
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				round(b, s, i)
				if _, err := s.View(context.Background(), pleat.Turn{}); err != nil {
					b.Fatal(err)
				}
				i++
			}
			perTurn[tokens] = b.Elapsed() / time.Duration(b.N)
			if base := perTurn[10_000]; base > 0 {
				b.ReportMetric(float64(perTurn[tokens])/float64(base), "x-10k")
			}
		})
	}
}
