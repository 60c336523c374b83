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
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Many conversations in turn stay within the memory that the proxy may hold, whatever they
// hold together. PLEAT_SOAK says how many there are.
func TestSoak(t *testing.T) {
	talks, _ := strconv.Atoi(os.Getenv("PLEAT_SOAK"))
	if talks == 0 {
		t.Skip("long: PLEAT_SOAK is the number of conversations")
	}
	const limit, turns = 100_000_000, 8
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Yes."}],`+
			`"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}`)
	}))
	defer up.Close()
	f := &proxyFlags{
		store:  &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")},
		policy: "default", recall: "tools", anthropic: up.URL, memory: limit,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	front, l, end, err := f.start(t.Context(), p, slog.New(slog.DiscardHandler), "", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	defer l.Close()
	for turn := range turns {
		for i := range talks {
			w := httptest.NewRecorder()
			front.ServeHTTP(w, soakRequest(i, turn))
			if w.Code != http.StatusOK {
				t.Fatalf("conversation %d, turn %d: %d %s", i, turn, w.Code, w.Body)
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		held := front.proxy.Memory()
		t.Logf("turn %d: heap %d MB, counted %d MB", turn, m.HeapAlloc>>20, held.Used>>20)
		if held.Used > held.Limit || m.HeapAlloc > 2*limit {
			t.Errorf("turn %d: heap %d, %+v", turn, m.HeapAlloc, held)
		}
	}
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
