package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/proxy"
)

// An hour of many conversations in turn stays within the memory that the proxy may hold, whatever
// they hold together, and takes no more at its end than in its middle. PLEAT_SOAK says how many
// conversations there are; the clock is the test's.
func TestSoak(t *testing.T) {
	talks, _ := strconv.Atoi(os.Getenv("PLEAT_SOAK"))
	talks = max(talks, 10)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	const turns, beside = 12, 48_000_000 // vocabulary, database, the test itself
	others := heapNow()                  // what the tests before this one left
	limit := int64(talks) * 200_000
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Yes."}],`+
			`"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":5}}`, n/4)
	}))
	defer up.Close()
	f := &proxyFlags{
		store:  &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")},
		policy: "default", recall: "tools", anthropic: up.URL, memory: term.ByteCount(limit), window: 16_000,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), tally.New())
	must(t, err)
	defer done()
	debug.SetMemoryLimit(limit + beside + int64(others))
	var now, folded atomic.Int64
	o.Now = func() time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(now.Load())) }
	o.Report = func(r proxy.Exchange) { folded.Add(int64(r.Epochs)) }
	h := handlerOf(t, o)
	defer h.Close()
	var heap [turns]uint64
	for turn := range turns {
		for i := range talks {
			now.Add(int64(time.Hour) / int64(turns*talks))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, soakRequest(i, turn))
			if w.Code != http.StatusOK {
				t.Fatalf("conversation %d, turn %d: %d %s", i, turn, w.Code, w.Body)
			}
		}
		heap[turn] = heapNow()
		held := h.Memory()
		t.Logf("turn %d: heap %d MB, counted %d MB, %d sessions, %d epochs",
			turn, heap[turn]>>20, held.Used>>20, len(h.Sessions()), folded.Load())
		if held.Used > held.Limit || int64(heap[turn]) > limit+beside+int64(others) {
			t.Errorf("turn %d: heap %d, %+v", turn, heap[turn], held)
		}
	}
	if middle := slices.Max(heap[turns/3 : 2*turns/3]); heap[turns-1] > middle+middle/4 || folded.Load() == 0 {
		t.Errorf("the heap after each turn: %d; %d epochs", heap, folded.Load())
	}
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// soakRequest is a turn of a conversation, 14 KB larger than the one before.
func soakRequest(talk, turn int) *http.Request {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"bash","input_schema":{"type":"object"}}],`+
		`"messages":[{"role":"user","content":"I am %d"}`, talk)
	for k := range turn {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"Yes."}]},{"role":"user","content":"step %d of %d: %s"}`,
			k, talk, strings.Repeat(fmt.Sprintf("word %d ", k), 2000))
	}
	b.WriteString("]}")
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(b.String()))
	r.Host = "127.0.0.1"
	r.Header.Set("X-Api-Key", "key")
	return r
}
