package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/internal/upstream"
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
		{host: "127.0.0.1:4141", origin: "http://evil.example", path: "/pleat/drain", want: 404},
	} {
		nothing := httptest.NewServer(http.NotFoundHandler())
		to, err := url.Parse(nothing.URL)
		if err != nil {
			t.Fatal(err)
		}
		store := store.NewMemory()
		h, err := proxy.NewHandler(&proxy.Options{Store: store, Anthropic: to, OpenAI: to, Hosts: tt.hosts})
		if err != nil {
			t.Fatal(err)
		}
		method := http.MethodGet
		if tt.path == "/pleat/drain" {
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
			t.Errorf("%s%s from %q: %d, want %d; draining %t", tt.host, tt.path, tt.origin, w.Code, tt.want, h.Draining())
		}
		nothing.Close()
	}
}

// Codex packs its requests with zstd; the proxy reads them.
func TestProxyReadsZstd(t *testing.T) {
	up := httptest.NewServer(newUpstream(upstream.Options{}))
	defer up.Close()
	f := &proxyFlags{store: &storeFlags{path: filepath.Join(t.TempDir(), "pleat.db")}, policy: "default", recall: "off", openai: up.URL}
	p := &program{stderr: io.Discard, getenv: func(string) string { return "" }}
	o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), newTally())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	h, err := proxy.NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
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
