//go:build unix

package pleat_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// BenchmarkLong is a turn of a session that has been folded again and again: somebody
// speaks now and then, files are read, edited and tested. It compares the newest hundred
// turns with the first hundred that were made in a full window, in time of the processor,
// which a busy machine changes less. Run it with -benchtime 2000x.
func BenchmarkLong(b *testing.B) {
	for _, window := range []int{8_000, 60_000} {
		b.Run(fmt.Sprint(window), func(b *testing.B) { longTurns(b, window) })
	}
}

func longTurns(b *testing.B, window int) {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "long"}, &pleat.Options{
		Budget: fold.Budget{Window: window}, Tools: pleat.RecallTools(),
	})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, 0, b.N)
	full := -1 // the turn of the first epoch
	heap := uint64(0)
	for i := 0; b.Loop(); i++ {
		msgs := longTurn(r, i)
		began := processor()
		if err := s.Append(ctx, msgs...); err != nil {
			b.Fatal(err)
		}
		if _, err := s.View(ctx, pleat.Turn{}); err != nil {
			b.Fatal(err)
		}
		took = append(took, processor()-began)
		if full < 0 && s.Snapshot().Epoch > 0 {
			full = i
		}
		if full >= 0 && i == full+100 {
			heap = inUse()
		}
	}
	if full < 0 || len(took) < full+200 {
		return
	}
	first, last := slices.Clone(took[full:full+100]), slices.Clone(took[len(took)-100:])
	for _, list := range [][]time.Duration{first, last} {
		slices.Sort(list)
	}
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	b.ReportMetric(ms(first[50]), "ms-first")
	b.ReportMetric(ms(last[50]), "ms-last")
	b.ReportMetric(ms(first[98]), "p99-first")
	b.ReportMetric(ms(last[98]), "p99-last")
	b.ReportMetric(ms(sum(last))/ms(sum(first)), "x-sum")
	b.ReportMetric((float64(inUse())-float64(heap))/float64(len(took)-full-100), "heap-B/turn")
}

func sum(list []time.Duration) (d time.Duration) {
	for _, x := range list {
		d += x
	}
	return d
}

func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func longTurn(r *rand.Rand, i int) (msgs []transcript.Message) {
	if i%15 == 0 {
		msgs = append(msgs, transcript.User(fmt.Sprintf("Now step %d: make handler%d.go return an error, and never touch legacy%d/.", i, i%40, i%7)))
	}
	id, file := fmt.Sprint("call_", i), fmt.Sprintf("src/pkg%d/handler%d.go", i%9, r.IntN(60))
	var c transcript.ToolCall
	var out strings.Builder
	switch r.IntN(3) {
	case 0:
		c = transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, file))
		for line := range 20 + r.IntN(60) {
			fmt.Fprintf(&out, "%4d\tfunc step%d_%d(ctx context.Context) error { return errors.New(\"e%d\") }\n", line, i, line, r.IntN(1000))
		}
	case 1:
		c = transcript.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"old_string":"return nil // %d","new_string":"return err // %d"}`, file, i, i+1))
		out.WriteString("The file was edited.")
	default:
		c = transcript.Call(id, "bash", fmt.Sprintf(`{"command":"go test ./src/pkg%d -run TestStep%d"}`, i%9, i))
		for line := range 5 + r.IntN(40) {
			fmt.Fprintf(&out, "=== RUN TestStep%d/case%d took %d ms, port %d\n", i, line, r.IntN(1000), 8000+line)
		}
		if r.IntN(4) == 0 {
			fmt.Fprintf(&out, "FAIL: step%d_test.go:%d: got %d, want 0\nexit status 1\n", i, r.IntN(90), r.IntN(9))
		}
	}
	return append(msgs,
		transcript.Assistant(transcript.Say(fmt.Sprintf("I found that step %d needs %s, because of error e%d.", i, file, i)), c),
		transcript.Results(transcript.Result(id, out.String())))
}
