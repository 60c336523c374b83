package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// asked runs the client against a server that answers "ok" and returns what it was sent.
func asked(t *testing.T, c anthropic.Client, req *model.Request) (http.Header, string) {
	t.Helper()
	var header http.Header
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		header, body = r.Header, string(data)
		if r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	}))
	defer s.Close()
	c.BaseURL = s.URL + c.BaseURL
	if _, err := c.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	return header, body
}

func TestClientRequest(t *testing.T) {
	half := 0.5
	hi := []transcript.Message{transcript.User("hi")}
	tool := []model.Tool{{Name: "run"}}
	for _, tt := range []struct {
		name      string
		client    anthropic.Client
		req       model.Request
		has, lack string // parts of the body, by " & "
		header    string // name and value
	}{
		{
			name:   "key",
			client: anthropic.Client{ClientOptions: model.ClientOptions{Key: "k"}},
			req:    model.Request{Model: "m"},
			header: "X-Api-Key: k",
		},
		{
			name:   "token",
			client: anthropic.Client{ClientOptions: model.ClientOptions{Key: "k"}, Bearer: true},
			req:    model.Request{Model: "m"},
			header: "Authorization: Bearer k",
		},
		{name: "no key", req: model.Request{Model: "m"}, header: "X-Api-Key: "},
		{name: "version", req: model.Request{Model: "m"}, header: "Anthropic-Version: 2023-06-01"},
		{
			name:   "base with version",
			client: anthropic.Client{ClientOptions: model.ClientOptions{BaseURL: "/v1/"}},
			req:    model.Request{Model: "m"},
		},
		{
			name:   "client's model",
			client: anthropic.Client{ClientOptions: model.ClientOptions{Model: model.Model{ID: "own"}}},
			has:    `"model":"own"`,
		},
		{name: "streams", req: model.Request{Model: "m"}, has: `"stream":true`},
		{
			name: "temperature taken",
			req:  model.Request{Model: "claude-opus-4-5", Temperature: &half},
			has:  `"temperature":0.5`,
		},
		{
			name: "temperature refused", req: model.Request{Model: "claude-opus-5-5", Temperature: &half},
			lack: "temperature",
		},
		{
			name: "answer as long as it gets",
			req:  model.Request{Model: "claude-opus-4-5", MaxTokens: 1 << 20},
			has:  `"max_tokens":64000`,
		},
		{name: "answer of default length", req: model.Request{Model: "claude-opus-4-5"}, has: `"max_tokens":16000`},
		{name: "model with short answers", req: model.Request{Model: "claude-3-haiku"}, has: `"max_tokens":8192`},
		{
			name: "no tools",
			req:  model.Request{Model: "m", Tools: tool, NoTools: true},
			has:  `"tools":[ & "tool_choice":{"type":"none"}`,
		},
		{name: "not cached", req: model.Request{Model: "m", System: "s", Tools: tool}, lack: "cache_control"},
		{name: "cached", req: model.Request{Model: "m", System: "s", Tools: tool, SessionKey: "x"}, has: `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}] & ],"cache_control":{"type":"ephemeral"}`},
		{
			name: "cached without a system prompt",
			req:  model.Request{Model: "m", Tools: tool, SessionKey: "x"},
			has:  `"input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`,
		},
		{
			name: "own markers",
			req: model.Request{
				Model:      "m",
				System:     "s",
				SessionKey: "x",
				Tools: []model.Tool{
					{
						Name: "run",
						Raw:  `{"name":"run","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}`,
					},
				},
			},
			has:  `"system":"s" & "ttl":"1h"`,
			lack: `"ephemeral"}`,
		},
		{
			name:   "bound thinking",
			req:    model.Request{Model: "claude-opus-5-5"},
			has:    `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
			header: "Anthropic-Beta: " + anthropic.BindingBeta,
		},
		{
			name:   "unbound thinking",
			req:    model.Request{Model: "claude-opus-4-5"},
			lack:   "thinking",
			header: "Anthropic-Beta: ",
		},
		{
			name: "a mode of one's own",
			client: anthropic.Client{ClientOptions: model.ClientOptions{
				Extra: []byte(`{"thinking":{"type":"adaptive","display":"omitted"},"speed":"fast"}`),
			}},
			req:    model.Request{Model: "claude-opus-5-5"},
			has:    `"display":"omitted","block_binding":{"prefix_mismatch_behavior":"drop_block"}} & "speed":"fast"`,
			header: "Anthropic-Beta: " + anthropic.BindingBeta,
		},
		{
			name: "a mode that cannot ask",
			client: anthropic.Client{
				ClientOptions: model.ClientOptions{Extra: []byte(`{"thinking":{"type":"between_tools"}}`)},
			},
			req:    model.Request{Model: "claude-sonnet-5-5"},
			lack:   "block_binding",
			header: "Anthropic-Beta: ",
		},
		{
			name: "a decision of one's own",
			client: anthropic.Client{ClientOptions: model.ClientOptions{
				Extra: []byte(`{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}}`),
			}},
			req:  model.Request{Model: "claude-opus-5-5"},
			lack: "drop_block",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Messages = hi
			header, body := asked(t, tt.client, &tt.req)
			if tt.has != "" {
				for part := range strings.SplitSeq(tt.has, " & ") {
					if !strings.Contains(body, part) {
						t.Errorf("%s is not in\n%s", part, body)
					}
				}
			}
			if tt.lack != "" && strings.Contains(body, tt.lack) {
				t.Errorf("%s is in\n%s", tt.lack, body)
			}
			if name, want, ok := strings.Cut(tt.header, ": "); ok && header.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, header.Get(name), want)
			}
			r, err := anthropic.Decode([]byte(body))
			difftest.Must(t, err)
			m, _ := model.DefaultModels().Lookup(r.Model)
			if vs := r.Check(m); len(vs) > 0 || len(r.Markers()) > 4 {
				t.Errorf("not legal: %v\n%s", vs, body)
			}
		})
	}
}

// What the model said goes back byte for byte: signatures, members that nobody knows, the
// form of numbers.
func TestClientBytes(t *testing.T) {
	const content = `[{"type":"thinking","thinking":"hm","signature":"s=="},{"type":"tool_use","id":"t1","name":"run","input":{"x": 1.0,"\u00e9":"\ud83d"},"new":true}]`
	answer := `{"id":"m1","type":"message","role":"assistant","content":` + content + `,"stop_reason":"tool_use"}`
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}))
	defer s.Close()
	c := anthropic.Client{ClientOptions: model.ClientOptions{BaseURL: s.URL}}
	req := &model.Request{Model: "m", Messages: []transcript.Message{transcript.User("go")}}
	reply, err := c.Generate(t.Context(), req, nil)
	if err != nil || reply.Stop != model.StopToolUse {
		t.Fatalf("%v, %v", reply.Stop, err)
	}
	req.Messages = append(append(req.Messages, reply.Messages...), transcript.Results(transcript.Result("t1", "done")))
	if _, err := c.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(bodies[1], `{"role":"assistant","content":`+content+`}`) {
		t.Errorf("sent back as\n%s", bodies[1])
	}
}

func ExampleClient() {
	// A server that answers as the provider does.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":12}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Paris"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
			`{"type":"message_stop"}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", event)
		}
	}))
	defer server.Close()

	client := &anthropic.Client{ClientOptions: model.ClientOptions{
		BaseURL: server.URL, Key: "from the environment of the program",
	}}
	reply, err := client.Generate(context.Background(), &model.Request{
		Model:    "claude-sonnet-5-5",
		Messages: []transcript.Message{transcript.User("What is the capital of France?")},
	}, func(d model.Delta) { fmt.Printf("%q ", d.Text) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Messages[0].Text(), reply.Stop, reply.Usage.Prompt(), reply.Usage.Output)
	// Output:
	// "Paris" "." Paris. end 12 2
}
