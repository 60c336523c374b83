package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// Pages in a browser reach neither the provider nor the pages for the operator; clients
// that have the token may use any name.
func TestFrontRefusesPages(t *testing.T) {
	for _, tt := range []struct {
		host, origin, path string
		hosts              []string
		want               int
	}{
		{host: "127.0.0.1:4141", path: "/pleat/status", want: 200},
		{host: "localhost:4141", path: "/metrics", want: 200},
		{host: "evil.example", path: "/healthz", want: 200},
		{host: "evil.example", path: "/pleat/status", want: 403},
		{host: "evil.example", path: "/metrics", want: 403},
		{host: "evil.example", path: "/v1/messages", want: 403},
		{host: "gateway", path: "/readyz", hosts: []string{"gateway"}, want: 200},
		{host: "gateway", path: "/pleat/status", hosts: []string{"*"}, want: 200},
		{host: "127.0.0.1:4141", origin: "http://evil.example", path: "/pleat/drain", want: 403},
		{host: "127.0.0.1:4141", origin: "http://evil.example", path: "/v1/messages", want: 403},
		{host: "127.0.0.1:4141", origin: "http://127.0.0.1:4141", path: "/v1/messages", want: 404},
		{host: "127.0.0.1:4141", origin: "http://localhost:3000", path: "/v1/chat/completions", want: 403},
	} {
		nothing := httptest.NewServer(http.NotFoundHandler())
		to, err := url.Parse(nothing.URL)
		if err != nil {
			t.Fatal(err)
		}
		store := store.NewMemory()
		h := handlerOf(t, &proxy.Options{Store: store, Anthropic: to, OpenAI: to, Hosts: tt.hosts})
		method := http.MethodGet
		if tt.origin != "" {
			method = http.MethodPost
		}
		r := httptest.NewRequest(method, tt.path, nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		w := httptest.NewRecorder()
		(&front{proxy: h, tally: newTally(), store: store}).ServeHTTP(w, r)
		if w.Code != tt.want || h.Draining() {
			t.Errorf("%s%s from %q: %d, want %d; draining %t", tt.host, tt.path, tt.origin, w.Code,
				tt.want, h.Draining())
		}
		nothing.Close()
	}
}

// The dashboard checks its clients itself, also where the proxy's clients need a token; what
// is not its own goes to the proxy as before.
func TestFrontWithDashboard(t *testing.T) {
	const token = "0123456789abcdef0123"
	st := store.NewMemory()
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	to, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := handlerOf(t, &proxy.Options{Store: st, Anthropic: to, Hosts: []string{"*"}})
	p := &term.Console{Getenv: func(string) string { return "" }}
	page, end, err := dashboard(t.Context(), p, st, "", dash.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	f := &front{proxy: h, tally: newTally(), token: token, store: st, dash: page}
	for path, want := range map[string]int{
		"/": 401, "/dash/session?s=x": 401, "/dash/style.css": 200, "/pleat/status": 401, "/v1/messages": 401,
		"/t/" + token + "/pleat/status": 200, "/t/" + token + "/v1/models": 404,
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if asked := strings.Contains(w.Body.String(), "This dashboard asks for its token"); w.Code != want ||
			asked != (want == 401 && dash.Has(strings.SplitN(path, "?", 2)[0])) {
			t.Errorf("%s: status %d, want %d: %.80s", path, w.Code, want, w.Body)
		}
	}
}

// Codex packs its requests with zstd; the proxy reads them.
func TestProxyReadsZstd(t *testing.T) {
	up := httptest.NewServer(newUpstream(upstreamtest.Options{}))
	defer up.Close()
	f := &proxyFlags{
		store: &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")}, policy: "default", recall: "off",
		openai: up.URL,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), newTally())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	h := handlerOf(t, o)
	defer h.Close()
	w, _ := zstd.NewWriter(nil)
	body := w.EncodeAll([]byte(`{"model":"m","input":[{"role":"user","content":"Hello."}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`), nil)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/responses", bytes.NewReader(body))
	r.URL.Scheme, r.URL.Host = "", ""
	r.Header.Set("Content-Encoding", "zstd")
	got := httptest.NewRecorder()
	h.ServeHTTP(got, r)
	if got.Code != http.StatusOK || len(h.Sessions()) != 1 {
		t.Errorf("the client got %d %s; %d sessions are kept", got.Code, got.Body, len(h.Sessions()))
	}
}

// Draining needs its own token; who has the token of the clients, or comes from another
// machine, cannot.
func TestFrontDrain(t *testing.T) {
	const client, operator = "the-token-of-the-clients", "the-token-of-the-operator"
	for _, tt := range []struct {
		name, token, drain, given, from string
		want                            int
	}{
		{"on this machine", "", "", "", "127.0.0.1:5", 200},
		{"from another machine", "", "", "", "192.0.2.1:5", 403},
		{"a client's token", client, "", client, "127.0.0.1:5", 403},
		{"a client's token beside another", client, operator, client, "127.0.0.1:5", 403},
		{"its own token", client, operator, operator, "192.0.2.1:5", 200},
		{"its own token where clients need none", "", operator, operator, "192.0.2.1:5", 200},
		{"no token", client, operator, "", "127.0.0.1:5", 401},
		{"none where only draining needs one", "", operator, "", "127.0.0.1:5", 403},
		{"a proxy for somebody else", "", "", "", "127.0.0.1:5", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to, _ := url.Parse("http://127.0.0.1:1")
			h := handlerOf(t, &proxy.Options{Store: store.NewMemory(), OpenAI: to})
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:4141/pleat/drain", nil)
			r.RemoteAddr = tt.from
			r.Header.Set(tokenHeader, tt.given)
			if strings.HasPrefix(tt.name, "a proxy") {
				r.Header.Set("X-Forwarded-For", "192.0.2.7")
			}
			w := httptest.NewRecorder()
			(&front{proxy: h, token: tt.token, drain: tt.drain}).ServeHTTP(w, r)
			if w.Code != tt.want || h.Draining() != (tt.want == 200) {
				t.Errorf("%d, want %d; draining %t", w.Code, tt.want, h.Draining())
			}
		})
	}
}

// No provider gets the token, whether the proxy requires one or not.
func TestFrontKeepsToken(t *testing.T) {
	const token = "the-token-of-the-clients"
	var got []string
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+r.Header.Get(tokenHeader))
	}))
	defer up.Close()
	to, _ := url.Parse(up.URL)
	for _, required := range []string{"", token} {
		h := handlerOf(t, &proxy.Options{Store: store.NewMemory(), OpenAI: to})
		f := &front{proxy: h, tally: newTally(), token: required}
		for _, path := range []string{"/v1/models", "/t/" + token + "/v1/models"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = "127.0.0.1:4141"
			r.Header.Set(tokenHeader, token)
			r.Header.Set("Authorization", "Bearer key")
			f.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	for _, g := range got {
		if g != "/v1/models" {
			t.Errorf("the provider got %s", g)
		}
	}
	if len(got) != 4 {
		t.Errorf("the provider got %d requests", len(got))
	}
}
