//go:build unix

package pleat_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestLong is a session that is folded again and again: somebody speaks now and then, files
// are read, edited and tested. A turn must cost what is new, however many came before it.
// PLEAT_LONG says how many turns. It reports the time of the processor that turns took, which a busy
// machine changes less than the clock, what they allocated, and the heap: of the hundred turns
// from the first epoch on, of those after a thousand turns, when pages have no room left and
// their parts are as long as they get, and of the newest. What is allocated does not
// depend on the machine, so that is what the test holds to.
func TestLong(t *testing.T) {
	turns := 250
	if n, err := strconv.Atoi(os.Getenv("PLEAT_LONG")); err == nil {
		turns = n
	} else if testing.Short() {
		t.Skip("long")
	}
	for _, window := range []int{8_000, 60_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) { longTurns(t, window, turns) })
	}
}

// spent is what a turn took.
type spent struct {
	time      time.Duration
	allocated uint64
}

func longTurns(t *testing.T, window, turns int) {
	ctx := t.Context()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "long"}, &pleat.Options{
		Budget: fold.Budget{Window: window}, Tools: pleat.RecallTools(),
	})
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	var took []spent
	full := -1 // the turn of the first epoch
	hundred := func(name string, end int) (median, worst spent) {
		list := slices.Clone(took[end-100 : end])
		slices.SortFunc(list, func(a, b spent) int { return cmp.Compare(a.time, b.time) })
		median.time, worst.time = list[50].time, list[98].time
		slices.SortFunc(list, func(a, b spent) int { return cmp.Compare(a.allocated, b.allocated) })
		median.allocated, worst.allocated = list[50].allocated, list[98].allocated
		t.Logf(
			"%s, turns %d to %d: median %.2f ms, %d KB; p99 %.1f ms, %.1f MB; epoch %d; heap %.1f MB",
			name,
			end-99,
			end,
			float64(median.time)/1e6,
			median.allocated/1e3,
			float64(worst.time)/1e6,
			float64(worst.allocated)/1e6,
			s.Snapshot().Epoch,
			float64(inUse())/1e6,
		)
		return median, worst
	}
	var median, worst spent // of the hundred after a thousand turns
	for i := range turns {
		msgs := longTurn(r, i)
		before := spent{processor(), allocated()}
		must(t, s.Append(ctx, msgs...))
		if _, err := s.View(ctx, pleat.Turn{}); err != nil {
			t.Fatal(err)
		}
		took = append(took, spent{processor() - before.time, allocated() - before.allocated})
		if full < 0 && s.Snapshot().Epoch > 0 {
			full = i
		}
		switch n := i + 1; {
		case full >= 0 && n == full+100:
			hundred("the first epochs", n)
		case n == 1100:
			median, worst = hundred("after a thousand", n)
		}
	}
	if full < 0 {
		t.Fatalf("nothing was folded in %d turns", turns)
	}
	lastMedian, lastWorst := hundred("the newest", turns)
	if worst.allocated == 0 || turns < 2_000 {
		return
	}
	// The median is of turns without an epoch, which depends on what they read.
	if median.allocated*2 < lastMedian.allocated || worst.allocated*3/2 < lastWorst.allocated {
		t.Errorf("a turn allocated more after %d turns than after a thousand", turns)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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
		msgs = append(
			msgs,
			transcript.User(
				fmt.Sprintf("Now step %d: make handler%d.go return an error, and never touch legacy%d/.", i, i%40, i%7),
			),
		)
	}
	id, file := fmt.Sprint("call_", i), fmt.Sprintf("src/pkg%d/handler%d.go", i%9, r.IntN(60))
	var c transcript.ToolCall
	var out strings.Builder
	switch r.IntN(3) {
	case 0:
		c = transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, file))
		for line := range 20 + r.IntN(60) {
			fmt.Fprintf(&out, "%4d\tfunc step%d_%d(ctx context.Context) error { return errors.New(\"e%d\") }\n",
				line, i, line, r.IntN(1000))
		}
	case 1:
		c = transcript.Call(
			id,
			"edit_file",
			fmt.Sprintf(`{"path":%q,"old_string":"return nil // %d","new_string":"return err // %d"}`, file, i, i+1),
		)
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
	return append(
		msgs,
		transcript.Assistant(
			transcript.Say(fmt.Sprintf("I found that step %d needs %s, because of error e%d.", i, file, i)), c,
		),
		transcript.Results(transcript.Result(id, out.String())),
	)
}
