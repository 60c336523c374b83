package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/doctor"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// The status of a proxy that was started again is the same as before.
func TestStatusAfterRestart(t *testing.T) {
	script := newUpstream(upstreamtest.Options{})
	up := httptest.NewServer(script)
	defer up.Close()
	f := &proxyFlags{
		store: &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")}, policy: "default",
		recall: "tools", openai: up.URL,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	var seen []tally.Status
	for i := range 2 {
		o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), tally.New())
		must(t, err)
		h := handlerOf(t, o)
		for _, tools := range []string{
			"", `,"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`,
		} {
			if i > 0 {
				break
			}
			r := httptest.NewRequest(http.MethodPost, "/v1/responses",
				strings.NewReader(`{"model":"gpt-6.1-sol","input":[{"role":"user","content":"Hello."}]`+tools+`}`))
			r.Host = "localhost"
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/pleat/status", nil)
		r.Host = "localhost"
		(&tally.Front{Proxy: h, Tally: tally.New(), Store: o.Store}).ServeHTTP(w, r)
		var s tally.Status
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		seen = append(seen, s)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
	for _, row := range seen[1].Sessions { // the client has not sent the answer back, so it is not stored
		if row.Session == "" {
			continue
		}
		stored, err := sessionfile.Read(t.Context(), p, row.Session, sessionfile.Flags{Store: f.store})
		must(t, err)
		shown, err := sessionfile.Overview(stored, 1, &term.Progress{})
		if err != nil || len(shown.Window.Prompts) != row.Requests || row.Requests != 1 {
			t.Errorf("show counts %d requests, the bill has %d (%v)", len(shown.Window.Prompts), row.Requests, err)
		}
	}
	if a, b := seen[0].All, seen[1].All; a != b || a.Requests != 2 || a.USD == 0 ||
		a.Prompt != int64(script.Bill().Input) || len(seen[1].Sessions) != 2 {
		t.Errorf("before %+v, after %+v; %d sessions", a, b, len(seen[1].Sessions))
	}
}

// answering is the address of a server that answers always the same.
func answering(t *testing.T, text string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// What answers in place of a proxy is not taken for one that nobody has used.
func TestStatusOfAnother(t *testing.T) {
	_, stderr, code := cli(t, "", "status", "--listen", answering(t, `{}`))
	if code != 1 || !strings.Contains(stderr, "is no pleat proxy") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Who starts a proxy where one runs is told that it does.
func TestProxyRunsAlready(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	_, stderr, code := cli(t, path, "proxy", "--listen", answering(t, `{"format":"pleat/proxy-status/1"}`))
	if code != 1 || !strings.Contains(stderr, `a pleat proxy runs there already: "pleat status --listen 127.0.0.1:`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A proxy whose upstream is itself does not start.
func TestProxyOfItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	must(t, err)
	at := l.Addr().String()
	must(t, l.Close())
	_, port, _ := net.SplitHostPort(at)
	for _, up := range []string{"http://" + at, "http://localhost:" + port + "/v1"} {
		_, stderr, code := cli(t, filepath.Join(t.TempDir(), "pleat.db"), "proxy", "--listen", at, "--upstream-openai", up)
		if code != 2 || !strings.Contains(stderr, "is this proxy itself") {
			t.Errorf("%s: exit %d: %s", up, code, stderr)
		}
	}
}

// The status names sessions as "pleat show" takes them: no longer than it has to, and with the tenant
// where another has a session of that name.
func TestStatusNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	st := openAt(t, path, stores.MakeMissing)
	status := tally.Status{Format: "pleat/proxy-status/1"}
	long := "a-name-that-is-longer-than-a-line-has-room"
	var err error
	want := []string{
		"key-a/twice", "key-b/twice", "key-b/" + long, long + "-1", long + "-2", "another-name-that-is-too-long",
	}
	for i, key := range []store.SessionKey{
		{Tenant: "key-a", Session: "twice"},
		{Tenant: "key-b", Session: "twice"},
		{Tenant: "key-b", Session: long},
		{Tenant: "key-b", Session: long + "-1"},
		{Session: long + "-2"},
		{Tenant: "key-a", Session: "another-name-that-is-too-long"},
		{Tenant: "key-c", Session: long}, // not in the status
	} {
		s, failed := pleat.OpenSession(t.Context(), st, key, nil)
		if failed == nil {
			failed = s.Append(t.Context(), transcript.User("Set the limit."))
		}
		if err = errors.Join(err, failed); i < len(want) {
			status.Sessions = append(status.Sessions, tally.Row{
				BillRow: proxy.BillRow{Tenant: key.Tenant, Session: key.Session, Model: "opus"},
			})
		}
	}
	must(t, errors.Join(err, st.Close()))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(status)
	}))
	defer server.Close()
	out, stderr, code := cli(t, path, "status", "--listen", server.Listener.Addr().String())
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for i, name := range want {
		if !strings.Contains(out, "\n  "+name+" · opus ·") {
			t.Errorf("%s is not in the status:\n%s", name, out)
		}
		shown, stderr, _ := cli(t, path, "show", "--json", name)
		if key := status.Sessions[i].Key(); !strings.Contains(shown, `"file": "`+key.String()+`"`) {
			t.Errorf("show %s: %s%s", name, shown, stderr)
		}
	}
	if out, _, _ = cli(t, path+"-none", "status", "--listen", server.Listener.Addr().String()); !strings.Contains(out, want[0]) {
		t.Errorf("without the store:\n%s", out)
	}
}

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
