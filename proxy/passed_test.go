package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
)

// A key goes to its own provider or nowhere, whatever the path.
func TestKeysGoToTheirProvider(t *testing.T) {
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	}
	o := Options{Store: store.NewMemory(), Anthropic: serve(t, named("anthropic")), OpenAI: serve(t, named("openai"))}
	h, err := NewHandler(&o)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, h).String()
	for _, tt := range []struct{ path, header, key, want string }{
		{"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "AIzaX", ""},
		{"/v1beta/models/gemini-2.5-pro:generateContent?key=AIzaX", "", "", ""},
		{"/v1/models/gemini-2.5-pro:generateContent", "X-Goog-Api-Key", "AIzaX", ""},
		{"/v1/models/gemini-2.5-pro:generateContent", "Authorization", "Bearer ya29.x", ""},
		{"/v1/models/ft:gpt-4o:org", "Authorization", "Bearer sk-proj-x", "openai"},
		{"/v1/messages", "X-Goog-Api-Key", "AIzaX", ""},
		{"/v1beta/openai/chat/completions", "Authorization", "Bearer AIzaX", "openai"},
		{"/v1/threads/thread_1/messages", "Authorization", "Bearer sk-proj-x", "openai"},
		{"/v1/embeddings", "Authorization", "Bearer sk-proj-x", "openai"},
		{"/v1/embeddings", "Authorization", "Bearer anything", "openai"},
		{"/v1/files", "Authorization", "Bearer sk-ant-oat-x", "anthropic"},
		{"/v1/messages/batches", "Authorization", "Bearer gateway", "anthropic"},
		{"/v1/complete", "X-Api-Key", "x", "anthropic"},
		{"/somewhere", "Authorization", "Bearer who-knows", ""},
		{"/somewhere", "Cookie", "session=1", ""},
		{"/somewhere", "", "", "openai"},
	} {
		req, _ := http.NewRequest(http.MethodPost, url+tt.path, strings.NewReader("{}"))
		if tt.header != "" {
			req.Header.Set(tt.header, tt.key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if tt.want == "" && resp.StatusCode != http.StatusNotFound || tt.want != "" && string(got) != tt.want {
			t.Errorf("%s with %s: %d %s, want %q", tt.path, tt.header, resp.StatusCode, got, tt.want)
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
			resp, err := http.Post(url+tt.path, "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(got) != tt.body {
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
