package front

import (
	"net/http"
	"regexp"
	"testing"
)

// A key goes to its own provider or nowhere, whatever the path; a request without one goes
// where its wire says, or nowhere.
func TestKeysGoToTheirProvider(t *testing.T) {
	a, o, g, none := byAnthropic, byOpenAI, byGemini, nobody
	paths := []string{
		"/v1/messages", "/v1/messages/batches", // Anthropic's
		"/v1/chat/completions", "/v1/responses/resp_1", // OpenAI's
		"/v1beta/models/m:generateContent", "/v1/models/m:countTokens", // Gemini's
		"/v1beta/openai/chat/completions", "/v1beta/files",
		"/v1/embeddings", "/v1/models/ft:gpt-4o:org", "/v1/threads/t_1/messages",
		"/v1/oauth/token", "/api/hello", "/foo",
	}
	for _, tt := range []struct {
		header, key string
		want        []provider
	}{
		{"", "", []provider{a, a, o, o, g, g, o, none, none, none, none, none, none, none}},
		{"Cookie", "session=1", []provider{a, a, o, o, g, g, o, none, none, none, none, none, none, none}},
		{"Authorization", "Bearer sk-ant-oat-x", []provider{a, a, a, a, a, a, a, a, a, a, a, a, a, a}},
		{"Authorization", "Bearer sk-proj-x", []provider{o, o, o, o, o, o, o, o, o, o, o, o, o, o}},
		{"Authorization", "Bearer AIzaX", []provider{g, g, g, g, g, g, g, g, g, g, g, g, g, g}},
		{"Authorization", "Bearer ya29.x", []provider{g, g, g, g, g, g, g, g, g, g, g, g, g, g}},
		{"Authorization", "Bearer sk-of-a-gateway", []provider{a, a, o, o, g, g, o, g, o, o, o, o, o, o}},
		{"Authorization", "Bearer anything", []provider{a, a, o, o, g, g, o, g, o, o, o, o, none, none}},
		{"X-Api-Key", "sk-ant-x", []provider{a, a, a, a, a, a, a, a, a, a, a, a, a, a}},
		{"X-Api-Key", "anything", []provider{a, a, none, none, none, none, none, a, a, a, a, a, a, a}},
		{"X-Goog-Api-Key", "AIzaX", []provider{g, g, g, g, g, g, g, g, g, g, g, g, g, g}},
		{"X-Goog-Api-Key", "anything", []provider{none, none, none, none, g, g, none, g, g, g, g, g, g, g}},
		{"Api-Key", "anything", []provider{none, none, o, o, none, none, o, o, o, o, o, o, o, o}},
		{"?key", "AIzaX", []provider{g, g, g, g, g, g, g, g, g, g, g, g, g, g}},
		{"?key", "anything", []provider{none, none, none, none, g, g, none, g, g, g, g, g, g, g}},
	} {
		for i, path := range paths {
			r, _ := http.NewRequest(http.MethodPost, "http://localhost"+path, nil)
			if tt.header == "?key" {
				r.URL.RawQuery = "key=" + tt.key
			} else if tt.header != "" {
				r.Header.Set(tt.header, tt.key)
			}
			if got := addressee(r); got != tt.want[i] {
				t.Errorf("%s with %s %s: %q, want %q", path, tt.header, tt.key, got, tt.want[i])
			}
		}
	}
	for _, tt := range []struct {
		path   string
		header http.Header
		want   provider
	}{
		{"/v1/messages?key=x", http.Header{"X-Api-Key": {"sk-ant-x"}}, a},
		{"/v1/messages?key=x", http.Header{"X-Api-Key": {"anything"}}, a},
		{"/v1/messages?key=AIzaX", http.Header{"X-Api-Key": {"sk-ant-x"}}, none},
		{"/v1/models", http.Header{"Anthropic-Version": {"2023-06-01"}}, a},
		{"/backend-api/codex", http.Header{"Authorization": {"Bearer eyJ.x.y"}, "Chatgpt-Account-Id": {"1"}}, o},
	} {
		r, _ := http.NewRequest(http.MethodPost, "http://localhost"+tt.path, nil)
		r.Header = tt.header
		if got := addressee(r); got != tt.want {
			t.Errorf("%s with %v: %q, want %q", tt.path, tt.header, got, tt.want)
		}
	}
}

// Who sends a key to the wrong place is told where it belongs.
func TestWhyNowhere(t *testing.T) {
	for _, tt := range []struct{ path, header, key, want string }{
		{
			"/v1/chat/completions", "X-Api-Key", "anything",
			"its path is openai's, .*OpenAI's into authorization: Bearer KEY",
		},
		{
			"/v1/messages", "X-Goog-Api-Key", "anything",
			"its path is anthropic's, .*Anthropic's key goes into the header x-api-key",
		},
		{"/v1/models", "", "", "neither its path nor its key"},
		{"/v1/messages", "X-Api-Key", "sk-ant-x", "none is set up for anthropic .*--upstream-anthropic URL"},
	} {
		r, _ := http.NewRequest(http.MethodPost, "http://localhost"+tt.path, nil)
		r.Header.Set(tt.header, tt.key)
		if got := unaddressed(r); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s with %s: %s", tt.path, tt.header, got)
		}
	}
}
