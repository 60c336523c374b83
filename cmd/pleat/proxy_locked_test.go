package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/doctor"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// While another process keeps the store locked, the proxy says that it is not ready, and
// requests do not wait for one another: together they wait about as long as one write.
func TestProxyWithLockedStore(t *testing.T) {
	up := httptest.NewServer(newUpstream(upstreamtest.Options{}))
	defer up.Close()
	path := filepath.Join(t.TempDir(), "pleat.db")
	f := &proxyFlags{store: &stores.Flags{Path: path}, policy: "default", recall: "tools", openai: up.URL}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	front, l, end, err := f.start(t.Context(), p, slog.New(slog.DiscardHandler), "", "127.0.0.1:0")
	must(t, err)
	defer end()
	defer l.Close()
	ask := func(path, body string) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer key")
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		return w.Code
	}
	if got := ask("/readyz", ""); got != http.StatusOK {
		t.Fatalf("readyz is %d", got)
	}
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	other, err := db.Conn(t.Context())
	must(t, err)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		body := `{"model":"m","input":"I am ` + name +
			`.","tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`
		if got := ask("/v1/responses", body); got != http.StatusOK {
			t.Errorf("%s: %d", name, got)
		}
	}
	if took := time.Since(began); took > 4*f.store.Busy {
		t.Errorf("five requests took %v", took)
	}
	if got := ask("/readyz", ""); got != http.StatusServiceUnavailable {
		t.Errorf("readyz is %d while the store is locked", got)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if got := ask("/readyz", ""); got != http.StatusOK {
		t.Errorf("readyz is %d afterwards", got)
	}
	// When another process encrypts it, the proxy cannot go on either.
	sealed := openAt(t, path, stores.MustExist, make([]byte, 32))
	defer sealed.Close()
	key := store.SessionKey{Session: "readyz"}
	if _, err := sealed.Append(t.Context(), key, 0, store.Entry{Kind: "k", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/readyz", nil)
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "open the store with its key") {
		t.Errorf("readyz is %d without the store's key: %s", w.Code, w.Body)
	}
}

// A store that is in use is not deleted; one that was deleted all the same makes the proxy not
// ready, and doctor says why.
func TestProxyWithoutItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat", "pleat.db")
	f := &proxyFlags{store: &stores.Flags{Path: path}, policy: "default", recall: "tools", openai: "http://127.0.0.1:1"}
	p := &term.Console{Stderr: io.Discard, Getenv: func(name string) string {
		return map[string]string{"HOME": t.TempDir()}[name]
	}}
	front, l, end, err := f.start(t.Context(), p, slog.New(slog.DiscardHandler), "", "127.0.0.1:0")
	must(t, err)
	defer end()
	defer l.Close()
	if err := forgetEverything(t.Context(), p, f.store, true); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("forget --all: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Skip(err) // where an open file cannot be deleted
	}
	server := httptest.NewServer(front)
	defer server.Close()
	found := doctor.Examine(t.Context(), doctor.Options{
		Listen: server.Listener.Addr().String(), Getenv: p.Getenv,
		Open: func(ctx context.Context) (library.Store, string, error) {
			return stores.OpenAs(ctx, p, f.store, stores.MustExist)
		},
	})
	isProxy := func(c doctor.Check) bool { return c.What == "proxy" }
	if c := found.Checks[slices.IndexFunc(found.Checks, isProxy)]; c.State != "wrong" ||
		!strings.Contains(c.Found, "cannot fold: the store cannot be written: ") ||
		!strings.Contains(c.Found, "deleted or replaced") {
		t.Errorf("doctor: %+v", c)
	}
}
