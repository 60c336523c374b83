package upstreamtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// Thinking is taken behind what it was made behind, with other cache markers and without
// earlier thinking, and behind nothing else, unless it may be dropped.
func TestBinds(t *testing.T) {
	server := httptest.NewServer(upstreamtest.New(upstreamtest.Options{Calls: 5, Binds: true}))
	defer server.Close()
	const tail = `],"model":"claude-opus-5-5","max_tokens":9,"tools":[{"name":"bash","input_schema":{"type":"object"}}],"thinking":{"type":"adaptive"`
	post := func(messages, more string) (int, string) {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages",
			strings.NewReader(`{"messages":[`+messages+tail+more+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Beta", "thinking-binding-controls-2026-08-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	answer := func(messages string) string {
		_, body := post(messages, "")
		return `,{"role":"assistant","content":` + string(jsonspan.Value(body).Get("content")) + `}`
	}
	result := func(id string) string {
		return `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"step-1-done"}]}`
	}
	first := `{"role":"user","content":"Begin."}`
	one := answer(first) + result("call_001_from_upstream")
	two := answer(first+one) + result("call_002_from_upstream")
	bare := strings.Replace(one, `"type":"thinking"`, `"type":"text","text":"I think."},{"type":"thinking"`, 1)
	for name, c := range map[string]struct {
		messages, more string
		status         int
	}{
		"as it was": {first + one + two, "", 200},
		"another marker": {
			`{"role":"user","content":[{"type":"text","text":"Begin.","cache_control":{"type":"ephemeral"}}]}` + one +
				two,
			"",
			200,
		},
		"another beginning": {`{"role":"user","content":"Go on."}` + one + two, "", 400},
		"may be dropped": {
			`{"role":"user","content":"Go on."}` + one + two,
			`,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`, 200,
		},
		"something added": {first + bare + two, "", 400},
	} {
		status, body := post(c.messages, c.more)
		if status != c.status || status == 400 && !strings.Contains(body, "bound to a different conversation") {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
}

// A reply that is cut has a beginning and no end.
func TestCut(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		server := httptest.NewServer(upstreamtest.New(upstreamtest.Options{FailAt: 1, Fail: "cut"}))
		body := `{"model":"m","max_tokens":9,"stream":` + stream +
			`,"messages":[{"role":"user","content":"step-1-done"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`
		resp, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || !strings.Contains(string(got), "Step 1") || strings.Contains(string(got), "call_002") {
			t.Errorf("stream %s: %v after %s", stream, err, got)
		}
		server.Close()
	}
}
