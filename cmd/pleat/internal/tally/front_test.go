package tally

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
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
		difftest.Must(t, err)
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
		(&Front{Proxy: h, Tally: New(), Store: store}).ServeHTTP(w, r)
		if w.Code != tt.want || h.Draining() {
			t.Errorf("%s%s from %q: %d, want %d; draining %t", tt.host, tt.path, tt.origin, w.Code,
				tt.want, h.Draining())
		}
		nothing.Close()
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
			(&Front{Proxy: h, Token: tt.token, Drain: tt.drain}).ServeHTTP(w, r)
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
		f := &Front{Proxy: h, Tally: New(), Token: required}
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

func handlerOf(t *testing.T, o *proxy.Options) *proxy.Handler {
	t.Helper()
	h, err := proxy.NewHandler(o)
	difftest.Must(t, err)
	return h
}
