package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/proxy"
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
		store := pleat.NewMemStore()
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
