package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
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
		o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), tally.New(false))
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
		(&tally.Front{Proxy: h, Tally: tally.New(false), Store: o.Store}).ServeHTTP(w, r)
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

// What answers in place of a proxy is not taken for one that nobody has used.
func TestStatusOfAnother(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{}`)
	}))
	defer other.Close()
	_, stderr, code := cli(t, "", "status", "--listen", strings.TrimPrefix(other.URL, "http://"))
	if code != 1 || !strings.Contains(stderr, "is no pleat proxy") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Who starts a proxy where one runs is told that it does.
func TestProxyRunsAlready(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"format":"pleat/proxy-status/1"}`)
	}))
	defer other.Close()
	path := filepath.Join(t.TempDir(), "pleat.db")
	_, stderr, code := cli(t, path, "proxy", "--listen", strings.TrimPrefix(other.URL, "http://"))
	if code != 1 || !strings.Contains(stderr, `a pleat proxy runs there already: "pleat status --listen 127.0.0.1:`) {
		t.Errorf("exit %d: %s", code, stderr)
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
		"key-a/twice", "key-b/twice", "key-b/" + long, long + "-1", long + "-2", "another-name-that-is-too",
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
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
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
