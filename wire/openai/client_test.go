package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

const (
	chatAnswer      = `{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ok"}}]}`
	responsesAnswer = `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}`
)

// asked runs both clients against a server that answers "ok" and returns the bodies that
// they sent.
func asked(t *testing.T, o model.ClientOptions, req *model.Request) (http.Header, string, string) {
	t.Helper()
	var header http.Header
	bodies := make(map[string]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		header, bodies[r.URL.Path] = r.Header, string(data)
		w.Header().Set("Content-Type", "application/json")
		answer := chatAnswer
		if r.URL.Path == "/v1/responses" {
			answer = responsesAnswer
		}
		io.WriteString(w, answer)
	}))
	defer s.Close()
	o.BaseURL = s.URL + "/v1/"
	chat, responses := openai.ChatClient(o), openai.ResponsesClient(o)
	for _, g := range []model.Generator{&chat, &responses} {
		reply, err := g.Generate(t.Context(), req, nil)
		if err != nil || reply.Messages[0].Text() != "ok" {
			t.Fatal(reply, err)
		}
	}
	return header, bodies["/v1/chat/completions"], bodies["/v1/responses"]
}

func TestClientRequest(t *testing.T) {
	half := 0.5
	tool := []model.Tool{{Name: "run"}}
	for _, tt := range []struct {
		name            string
		options         model.ClientOptions
		req             model.Request
		chat, responses string // parts of the bodies; with "!" in front they must not be there
		both            string // a part of both
		header          string
	}{
		{
			name:    "key",
			options: model.ClientOptions{Key: "k"},
			req:     model.Request{Model: "m"},
			header:  "Authorization: Bearer k",
		},
		{name: "no key", req: model.Request{Model: "m"}, header: "Authorization: "},
		{
			name:    "header",
			options: model.ClientOptions{Header: http.Header{"openai-organization": {"o"}}},
			req:     model.Request{Model: "m"},
			header:  "Openai-Organization: o",
		},
		{
			name:      "streams",
			req:       model.Request{Model: "m"},
			chat:      `"stream":true,"stream_options":{"include_usage":true}`,
			responses: `"stream":true`,
		},
		{
			name:    "client's model",
			options: model.ClientOptions{Model: model.Model{ID: "own"}},
			both:    `"model":"own"`,
		},
		{
			name:      "provider's word for the limit",
			req:       model.Request{Model: "gpt-5.4", MaxTokens: 9},
			chat:      `"max_completion_tokens":9`,
			responses: `"max_output_tokens":9`,
		},
		{
			name:      "others' word for the limit",
			req:       model.Request{Model: "deepseek-flash", MaxTokens: 9},
			chat:      `"max_tokens":9`,
			responses: `"max_output_tokens":9`,
		},
		{
			name:      "limit",
			req:       model.Request{Model: "gpt-4o", MaxTokens: 1 << 20},
			chat:      `"max_completion_tokens":16384`,
			responses: `"max_output_tokens":16384`,
		},
		{
			name: "temperature taken",
			req:  model.Request{Model: "gpt-4o", Temperature: &half},
			both: `"temperature":0.5`,
		},
		{
			name: "temperature refused",
			req:  model.Request{Model: "gpt-5.4", Temperature: &half},
			both: `!temperature`,
		},
		{
			name: "temperature of a model that nobody knows",
			req:  model.Request{Model: "m", Temperature: &half},
			both: `"temperature":0.5`,
		},
		{
			name:    "temperature of a local model",
			options: model.ClientOptions{Model: model.Model{ID: "own", Window: 4096}},
			req:     model.Request{Temperature: &half},
			both:    `"temperature":0.5`,
		},
		{
			name:    "model of which only the name is said",
			options: model.ClientOptions{Model: model.Model{ID: "gpt-5.4"}},
			req:     model.Request{Temperature: &half},
			both:    `!temperature`,
		},
		{name: "no tools", req: model.Request{Model: "m", Tools: tool, NoTools: true}, both: `"tool_choice":"none"`},
		{name: "cache key", req: model.Request{Model: "gpt-5.4", SessionKey: "s"}, both: `"prompt_cache_key":"s"`},
		{name: "cache key for others", req: model.Request{Model: "m", SessionKey: "s"}, chat: `!prompt_cache_key`},
		{
			name: "reasoning", req: model.Request{Model: "gpt-5.4"},
			responses: `"include":["reasoning.encrypted_content"]`,
		},
		{name: "no reasoning", req: model.Request{Model: "gpt-4o"}, responses: `!include`},
		{name: "not stored", req: model.Request{Model: "gpt-4o"}, responses: `"store":false`},
		{
			name:    "extra",
			options: model.ClientOptions{Extra: []byte(`{"reasoning_effort":"low"}`)},
			req:     model.Request{Model: "m"},
			both:    `,"reasoning_effort":"low"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Messages = []transcript.Message{transcript.User("hi")}
			header, chat, responses := asked(t, tt.options, &tt.req)
			for _, c := range [][2]string{
				{chat, tt.chat}, {responses, tt.responses}, {chat, tt.both}, {responses, tt.both},
			} {
				part, not := strings.CutPrefix(c[1], "!")
				if strings.Contains(c[0], part) == not {
					t.Errorf("%s in\n%s", c[1], c[0])
				}
			}
			if name, want, ok := strings.Cut(tt.header, ": "); ok && header.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, header.Get(name), want)
			}
		})
	}
}

// What the model said goes back byte for byte.
func TestClientBytes(t *testing.T) {
	const message = `{"role":"assistant","content":null,"odd":[1.0],"tool_calls":[{"id":"t1","type":"function","function":{"name":"run","arguments":"{\"x\": 1.0}"},"extra":{"sig":"s"}}]}`
	const (
		reasoning = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e="}`
		called    = `{"id":"fc_1","type":"function_call","call_id":"t1","name":"run","arguments":"{\"x\": 1.0}","new":1}`
	)
	var last string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		last = string(data)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/responses" {
			fmt.Fprintf(w, `{"id":"r","status":"completed","output":[%s,%s]}`, reasoning, called)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":%s}]}`, message)
	}))
	defer s.Close()
	for _, tt := range []struct {
		client model.Generator
		want   string
	}{
		{&openai.ChatClient{BaseURL: s.URL}, message},
		{&openai.ResponsesClient{BaseURL: s.URL}, reasoning + "," + called},
	} {
		req := &model.Request{Model: "m", Messages: []transcript.Message{transcript.User("go")}}
		reply, err := tt.client.Generate(t.Context(), req, nil)
		if err != nil || reply.Stop != model.StopToolUse {
			t.Fatalf("%v, %v", reply.Stop, err)
		}
		req.Messages = append(append(req.Messages, reply.Messages...),
			transcript.Results(transcript.Result("t1", "done")))
		if _, err := tt.client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(last, tt.want) {
			t.Errorf("%v sent back\n%s\nwant\n%s", tt.client, last, tt.want)
		}
	}
}

func ExampleChatClient() {
	// A server as those that run on one's own machine.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Paris.\"}}]}\n\n")
		io.WriteString(w,
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	client := &openai.ChatClient{BaseURL: server.URL + "/v1", Model: model.Model{ID: "small", Window: 8192}}
	reply, err := client.Generate(context.Background(), &model.Request{
		Messages: []transcript.Message{transcript.User("What is the capital of France?")},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Messages[0].Text(), reply.Stop)
	// Output:
	// Paris. end
}
