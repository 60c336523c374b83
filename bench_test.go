package pleat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
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

// longSession makes a conversation of about a million tokens: turns of a user, rounds of
// reading, editing and testing, answers with reasons.
func longSession(tokens int) []transcript.Message {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		return [...]string{
			"parse", "Token", "session", "store", "fold", "view", "Ledger", "budget", "line", "Handle", "retry", "wire",
		}[r.IntN(12)]
	}
	name := func() string { return fmt.Sprintf("%s%s%d", word(), "Of"+word(), r.IntN(400)) }
	code := func(lines int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%6d→\tif %s := %s(ctx, %s); err != nil { return fmt.Errorf(\"%s %s: %%w\", err) }\n",
				i+1, name(), name(), word(), word(), word())
		}
		return b.String()
	}
	var msgs []transcript.Message
	size := 0
	add := func(m ...transcript.Message) {
		for _, m := range m {
			for _, b := range m.Blocks().All() {
				size += len(transcript.BlockText(b))
			}
		}
		msgs = append(msgs, m...)
	}
	for n := 0; size < tokens*29/10; n++ {
		if n%12 == 0 {
			add(transcript.User(fmt.Sprintf("Now fix %s in src/%s.go, and do not touch %s.", name(), word(), name())))
		}
		id, file := fmt.Sprintf("call_%d", n), fmt.Sprintf("src/%s%d.go", word(), r.IntN(60))
		switch n % 4 {
		case 0, 1:
			add(
				transcript.Assistant(
					transcript.Say("Let me look at "+file+"."),
					transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, file)),
				),
				transcript.Results(transcript.Result(id, code(60+r.IntN(120)))),
			)
		case 2:
			add(
				transcript.Assistant(
					transcript.Call(
						id,
						"edit_file",
						fmt.Sprintf(`{"path":%q,"old_string":%q,"new_string":%q}`, file, code(6), code(8)),
					),
				),
				transcript.Results(transcript.Result(id, "ok")),
			)
		case 3:
			add(
				transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"go test ./%s"}`, word()))),
				transcript.Results(
					transcript.Result(id,
						strings.Repeat("ok  \tgithub.com/x/y/"+word()+"\t0.1s\n", 20)+"--- FAIL: Test"+name()),
				),
			)
		}
		if n%12 == 11 {
			add(
				transcript.Assistant(
					transcript.Say(
						fmt.Sprintf(
							"Done.\n\n- Replaced `%s` by `%s` because it blocked under load.\n- Kept `%s` instead of `%s`.\n\nThe root cause was %s: %s.",
							name(),
							name(),
							name(),
							name(),
							name(),
							code(2),
						),
					),
				),
			)
		}
	}
	return msgs
}

// BenchmarkCompaction compares folding a conversation of a million tokens with counting
// its tokens once: "ratio" is the one over the other.
func BenchmarkCompaction(b *testing.B) {
	msgs := longSession(1_000_000)
	plain := tokens.NewTokenizer(model.Model{}, &tokens.Options{CacheSize: -1})
	tokens, best := 0, time.Hour
	for range 3 {
		start := time.Now()
		tokens = 0
		for _, m := range msgs {
			tokens += plain.CountMessage(m)
		}
		best = min(best, time.Since(start))
	}
	for _, window := range []int{16_000, 200_000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := open(b, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: window}})
				mustAppend(b, s, msgs...)
				runtime.GC()
				b.StartTimer()
				if _, err := s.Compact(b.Context(), ""); err != nil {
					b.Fatal(err)
				}
			}
			perOp := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(tokens), "tokens")
			b.ReportMetric(float64(best.Milliseconds()), "tokenize-ms")
			b.ReportMetric(float64(perOp)/float64(best), "ratio")
		})
	}
}
