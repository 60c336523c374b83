package adversary

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// The judges share no code with what they judge: beside the standard library they may
// import what a user of the proxy imports, and a judge of pages that imports nothing of ours.
func TestImports(t *testing.T) {
	const module = "github.com/pleat-dev/pleat"
	allowed := []string{
		module, module + "/policy", module + "/proxy", module + "/store", module + "/internal/fence/fencetest",
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", file.Name(), name)
			}
		}
	}
}
