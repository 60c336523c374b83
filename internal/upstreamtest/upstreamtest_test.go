package upstreamtest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

type client struct {
	path   string
	encode func(*model.Request) ([]byte, error)
	whole  func([]byte) (model.Reply, error)
	record func(stream []byte) (model.Reply, error)
}

func recorded[R interface {
	io.Writer
	Reply() (model.Reply, error)
}](r R, stream []byte) (model.Reply, error) {
	if _, err := r.Write(stream); err != nil {
		return model.Reply{}, err
	}
	return r.Reply()
}

var clients = map[string]client{
	"messages": {
		"/v1/messages", anthropic.Encode, anthropic.DecodeReply,
		func(b []byte) (model.Reply, error) { return recorded(anthropic.NewRecorder(nil, 0), b) },
	},
	"chat": {
		"/v1/chat/completions", openai.EncodeChat, openai.DecodeChatReply,
		func(b []byte) (model.Reply, error) { return recorded(openai.NewChatRecorder(nil, 0), b) },
	},
	"responses": {"/v1/responses", openai.EncodeResponses, openai.DecodeResponsesReply, func(b []byte) (model.Reply, error) {
		return recorded(openai.NewResponsesRecorder(nil, 0), b)
	}},
	"gemini":       geminiClient("gemini-3.8-flash"),
	"gemini-no-id": geminiClient("gemini-2.5-pro"),
}

func geminiClient(name string) client {
	encode := func(r *model.Request) ([]byte, error) {
		r.Model = name
		return gemini.Encode(r)
	}
	return client{
		"/v1beta/models/" + name + ":generateContent", encode, gemini.DecodeReply,
		func(b []byte) (model.Reply, error) {
			return recorded(gemini.NewRecorder(nil, 0), b)
		},
	}
}

// url is where a request goes; Gemini's says whether it streams.
func (c client) url(base string, stream bool) string {
	if before, ok := strings.CutSuffix(c.path, ":generateContent"); ok && stream {
		return base + before + ":streamGenerateContent?alt=sse"
	}
	return base + c.path
}

// TestConversation plays a client that runs the commands, on each wire, streaming and
// not: all steps are reached, and nothing that was sent breaks a rule.
func TestConversation(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk to run the script's commands with")
	}
	for name, c := range clients {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, stream), func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{
					Calls: 5, Parallel: 2, Bytes: 500, Thinking: name == "messages",
				})
				server := httptest.NewServer(s)
				defer server.Close()
				last := converse(t, server.URL, c, stream)
				if !strings.Contains(last, "All 5 steps") {
					t.Errorf("last answer %q", last)
				}
				for i, x := range s.Log() {
					if len(x.Violations) > 0 || x.Status != 200 {
						t.Errorf("request %d: %+v", i, x)
					}
				}
			})
		}
	}
}

func converse(t *testing.T, url string, c client, stream bool) string {
	req := &model.Request{
		Model:     "scripted",
		MaxTokens: 1000,
		Stream:    stream,
		Messages:  []transcript.Message{transcript.User("Work through the steps.")},
		Tools: []model.Tool{{
			Name: "Bash", Description: "runs a command",
			Schema: `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`,
		}},
	}
	for range 10 {
		r := ask(t, url, c, req)
		req.Messages = append(req.Messages, r.Messages...)
		var results []transcript.ToolResult
		text := ""
		for _, m := range r.Messages {
			text += m.Text()
			for _, b := range m.Blocks().All() {
				if call, ok := b.(transcript.ToolCall); ok {
					results = append(results, transcript.Result(call.ID, run(t, call.Input.String())))
				}
			}
		}
		if len(results) == 0 {
			return text
		}
		req.Messages = append(req.Messages, transcript.Results(results...))
	}
	return "never done"
}

func run(t *testing.T, input string) string {
	t.Helper()
	_, command, ok := strings.Cut(input, `{"command":"`)
	if !ok {
		t.Fatalf("input %s", input)
	}
	command = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\u003c`, `<`).Replace(strings.TrimSuffix(command, `"}`))
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if err != nil {
		t.Fatalf("run %s: %v: %s", command, err, out)
	}
	return string(out)
}

func ask(t *testing.T, url string, c client, req *model.Request) model.Reply {
	t.Helper()
	body, err := c.encode(req)
	difftest.Must(t, err)
	resp, err := http.Post(c.url(url, req.Stream), "application/json", bytes.NewReader(body))
	difftest.Must(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", resp.StatusCode, err, got)
	}
	read := c.whole
	if req.Stream {
		read = c.record
	}
	r, err := read(got)
	if err != nil || r.Err != nil {
		t.Fatalf("reply: %v %v", err, r.Err)
	}
	return r
}

// A command is done if what it printed is folded, and not if the client says that it printed nothing.
func TestFoldedStep(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Calls: 9})
	server := httptest.NewServer(s)
	defer server.Close()
	var msgs []transcript.Message
	for n, text := range []string{"[folded: Bash, 300 lines]", ""} {
		id := fmt.Sprintf("call_%03d_from_upstream", 4+n)
		msgs = append(msgs, transcript.Assistant(transcript.Call(id, "Bash", "{}")),
			transcript.Results(transcript.Result(id, text)))
	}
	for _, wire := range []string{"messages", "chat", "responses", "gemini"} {
		ask(t, server.URL, clients[wire], &model.Request{
			Model: "scripted", MaxTokens: 9, Messages: append([]transcript.Message{transcript.User("Go.")}, msgs...),
			Tools: []model.Tool{{Name: "Bash", Schema: `{"type":"object","properties":{"command":{"type":"string"}}}`}},
		})
	}
	for i, x := range s.Log() {
		if x.Step != 4 {
			t.Errorf("request %d: step %d", i, x.Step)
		}
	}
}

// TestFailures checks that each way of failing happens once and is what it says.
func TestFailures(t *testing.T) {
	for name, c := range clients {
		for fail, want := range map[string]model.ErrorKind{
			"400": model.ErrorTooLong, "413": model.ErrorTooLarge, "429": model.ErrorRateLimited,
			"529": model.ErrorOverloaded,
		} {
			s := upstreamtest.New(upstreamtest.Options{FailAt: 1, Fail: fail})
			server := httptest.NewServer(s)
			body, _ := c.encode(&model.Request{
				Model: "m", MaxTokens: 10, Messages: []transcript.Message{transcript.User("step-1-done")},
				Tools: []model.Tool{{Name: "bash", Schema: `{"type":"object"}`}},
			})
			for i, status := range []string{fail, "200"} {
				resp, err := http.Post(server.URL+c.path, "application/json", bytes.NewReader(body))
				difftest.Must(t, err)
				got, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if fmt.Sprint(resp.StatusCode) != status {
					t.Errorf("%s %s, request %d: status %d: %s", name, fail, i, resp.StatusCode, got)
				}
				if e := model.ClassifyError(resp.StatusCode, "", got); i == 0 && e.Kind != want {
					t.Errorf("%s %s: %v, want %v", name, fail, e.Kind, want)
				}
			}
			server.Close()
		}
	}
}

// Thinking is taken behind what it was made behind, with other cache markers and without
// earlier thinking, and behind nothing else, unless it may be dropped.
func TestBinds(t *testing.T) {
	server := httptest.NewServer(upstreamtest.New(upstreamtest.Options{Calls: 5, Binds: true}))
	defer server.Close()
	const tail = `],"model":"claude-opus-5-5","max_tokens":9,"tools":[{"name":"bash","input_schema":{"type":"object"}}],"thinking":{"type":"adaptive"`
	post := func(messages, more string) (int, string) {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages",
			strings.NewReader(`{"messages":[`+messages+tail+more+`}}`))
		difftest.Must(t, err)
		req.Header.Set("Anthropic-Beta", "thinking-binding-controls-2026-08-01")
		resp, err := http.DefaultClient.Do(req)
		difftest.Must(t, err)
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
		difftest.Must(t, err)
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || !strings.Contains(string(got), "Step 1") || strings.Contains(string(got), "call_002") {
			t.Errorf("stream %s: %v after %s", stream, err, got)
		}
		server.Close()
	}
}
