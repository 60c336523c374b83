package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// An upstream's address may name a version of its own, with or without anything behind it.
func TestUpstreamAddresses(t *testing.T) {
	up := serve(t,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.RequestURI()) }))
	for _, tt := range []struct{ base, path, want string }{
		{"", "/v1/chat/completions?x=1", "/v1/chat/completions?x=1"},
		{"/v1", "/v1/chat/completions", "/v1/chat/completions"},
		{"/v1/", "/v1/chat/completions", "/v1/chat/completions"},
		{"/openai/v1", "/v1/chat/completions", "/openai/v1/chat/completions"},
		{"/api/paas/v4", "/v1/chat/completions", "/api/paas/v4/chat/completions"},
		{"/api/v3", "/v1/responses", "/api/v3/responses"},
		{"/api/v3", "/v1/files/a%2Fb", "/api/v3/files/a%2Fb"},
		{"/v1beta/openai", "/v1/chat/completions", "/v1beta/openai/chat/completions"},
		{"/v1beta/openai", "/chat/completions", "/v1beta/openai/chat/completions"},
		{"/gateway", "/v1/chat/completions", "/gateway/v1/chat/completions"},
		{"/api/anthropic", "/v1/messages", "/api/anthropic/v1/messages"},
		{"/api/v2", "/v1/messages", "/api/v2/messages"},
		{"/v1beta", "/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"},
	} {
		to := *up
		to.Path = tt.base
		reports := newReports()
		url := startAt(t, &to, Options{Report: reports.add})
		req, _ := http.NewRequest(http.MethodPost, url+tt.path,
			strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi."}]}`))
		req.Header.Set("Authorization", "Bearer anything")
		_, got := fetch(t, req)
		if got != tt.want {
			t.Errorf("%s at %q goes to %s, want %s", tt.path, tt.base, got, tt.want)
		}
		if r := reports.wait(1)[0]; strings.HasSuffix(tt.want, "/messages") && r.Format == "" {
			t.Errorf("%s at %q is not known as a conversation", tt.path, tt.base)
		}
	}
}

// What the proxy does not understand is passed on, reported each time and logged once.
func TestNotUnderstood(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	reports := newReports()
	var log bytes.Buffer
	url := start(t, up, Options{Report: reports.add, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	sent := 0
	for _, tt := range []struct{ path, body string }{
		{"/v1/embeddings", `{"input":"x"}`},
		{"/v1/messages", `{"messages":7}`},
		{"/v1/responses", `{"model":"m","previous_response_id":"resp_1","input":[{"role":"user","content":"Go on."}]}`},
	} {
		for range 2 {
			req, _ := http.NewRequest(http.MethodPost, url+tt.path, strings.NewReader(tt.body))
			req.Header.Set("Authorization", "Bearer key")
			_, got := fetch(t, req)
			if got != tt.body {
				t.Errorf("%s: the provider got %s", tt.path, got)
			}
			sent++
		}
	}
	for _, r := range reports.wait(sent) {
		if !r.Passed || r.Status != http.StatusOK {
			t.Errorf("reported as %+v", r)
		}
	}
	if n := strings.Count(log.String(), "passed on, not compacted"); n != 3 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}
