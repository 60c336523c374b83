package adversary

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

func number(t *testing.T, name string, or int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return or
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestViews drives the proxy with hostile clients and judges every view that reaches the
// provider. PLEAT_VIEWS is about how many views there are, PLEAT_SEED the first seed.
func TestViews(t *testing.T) {
	few := 400
	if testing.Short() {
		few = 100
	}
	want, seed := number(t, "PLEAT_VIEWS", few), uint64(number(t, "PLEAT_SEED", 1))
	began := time.Now()
	dir := t.TempDir()
	var mu sync.Mutex
	var total counts
	failed := 0
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				mine, more := seed, total.Views < want && failed < 5
				seed++
				mu.Unlock()
				if !more {
					return
				}
				n, ok := judged(t, mine, dir)
				mu.Lock()
				if !ok {
					failed++
				}
				total.add(n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%+v in %v", total, time.Since(began).Round(time.Millisecond))
	if want >= 400 && (total.Folded == 0 || total.Unfolded == 0 || total.Hidden == 0) {
		t.Error("nothing was put to the test")
	}
}

// judged runs one case.
func judged(t *testing.T, seed uint64, dir string) (n counts, ok bool) {
	dir = fmt.Sprintf("%s/%d", dir, seed)
	defer os.RemoveAll(dir)
	w, err := newWorld(seed, dir)
	if err == nil {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("seed %d (%s): %v", seed, w.policy, p)
			}
		}()
		err = w.run()
	}
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return counts{}, false
	}
	for _, bad := range w.bad {
		t.Errorf("seed %d (%s, window %d, recall %s): %s\nrun it alone: PLEAT_SEED=%d PLEAT_VIEWS=1 go test -run TestViews -v ./proxy/adversary",
			seed, w.policy, w.options.Window, w.options.Recall, bad, seed)
	}
	return w.counts, len(w.bad) == 0
}
