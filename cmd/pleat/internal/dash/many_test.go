package dash

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
)

// copies makes so many sessions that say the same.
func copies(t testing.TB, st *store.Memory, n int) {
	t.Helper()
	s := fill(t, st, "first", 10, 8000, "words")
	for i := range n {
		must(
			t,
			pleat.Fork(t.Context(), st, s.Key(), inside.Of(s).LastSeq(),
				pleat.Key{Session: fmt.Sprintf("copy%04d", i)}, library.Codecs()),
		)
	}
}

// Browsing all sessions takes no more memory than browsing some of them.
func TestBrowsingIsBounded(t *testing.T) {
	const some = 50
	all := 1000
	if testing.Short() {
		all = 100
	}
	st := store.NewMemory()
	copies(t, st, all)
	h := newDash(t, st, "")
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := uint64(0)
	for i := range all {
		pages := []string{"session", "plan", "ledger"}
		if i%10 > 0 {
			pages = pages[:1]
		}
		for _, page := range pages {
			if w := get(h, fmt.Sprintf("/dash/%s?s=copy%04d", page, i)); w.Code != http.StatusOK {
				t.Fatal(w.Body)
			}
		}
		if i == some {
			before = used()
		}
	}
	after := used()
	t.Logf("%d kB after %d sessions, %d kB after %d", before>>10, some, after>>10, all)
	if most := before + uint64(all)*4<<10 + 1<<20; after > most { // what a list knows of a session is remembered
		t.Errorf("%d kB after %d sessions, %d kB after %d", before>>10, some, after>>10, all)
	}
}

// Lists are paged, and every session is on one of the pages.
func TestListIsPaged(t *testing.T) {
	st := store.NewMemory()
	copies(t, st, 120)
	h := newDash(t, st, "")
	seen := make(map[string]bool)
	for from := 0; from < 150; from += listRows {
		body := get(h, fmt.Sprintf("/?from=%d", from)).Body.String()
		for i := range 120 {
			if name := fmt.Sprintf("copy%04d", i); strings.Contains(body, "s="+name+`"`) {
				if seen[name] {
					t.Errorf("%s is on two pages", name)
				}
				seen[name] = true
			}
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d sessions are listed, want 120", len(seen))
	}
	for _, from := range []string{"-1", "100000", "x", "9223372036854775808"} {
		if w := get(h, "/?from="+from); w.Code != http.StatusOK {
			t.Errorf("from=%s: status %d", from, w.Code)
		}
		if w := get(h, "/dash/session?s=first&from="+from); w.Code != http.StatusOK {
			t.Errorf("folds from=%s: status %d", from, w.Code)
		}
	}
}

// A stream says that a session went on, and ends when the server does.
func TestLive(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 2, 8000, "words")
	done := make(chan struct{})
	lib := library.New(library.Options{Store: st})
	defer lib.Close()
	h, err := New(Options{Library: lib, Store: st, Done: done})
	must(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/dash/live?s=made+up", nil)
	must(t, err)
	resp, err := server.Client().Do(req)
	must(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // it is open
	must(t, s.Append(t.Context(), pleat.User("Go on.")))
	for lines.Scan() && lines.Text() != "event: change" {
	}
	if lines.Text() != "event: change" {
		t.Fatalf("the stream ends: %v", lines.Err())
	}
	close(done)
	for lines.Scan() {
	}
	must(t, lines.Err())
}
