package call_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// key is what must never be seen outside of a request's header.
const key = "sk-very-secret"

// wire is a client and what its server says.
type wire struct {
	name    string
	model   string
	client  func(base string, hc *http.Client, o tuning) model.Generator
	whole   string   // an answer in one piece that says "Hello"
	stream  []string // the same as events: a beginning without text, text, the end
	tooLong string   // a refusal: 213462 tokens where 200000 may be
	failed  string   // an event: the server is overloaded
	badJSON string   // an answer in one piece that is cut off
}

// tuning are the settings that tests change.
type tuning struct {
	retries int
	idle    time.Duration
	limit   int
}

var wires = []wire{
	{
		name: "anthropic", model: "claude-opus-4-5",
		client: func(base string, hc *http.Client, o tuning) model.Generator {
			return &anthropic.Client{ClientOptions: model.ClientOptions{
				BaseURL: base, Key: key, HTTP: hc, Retries: o.retries, Idle: o.idle, Limit: o.limit,
			}}
		},
		whole: `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`,
		stream: []string{
			"event: message_start\ndata: " +
				`{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":{"input_tokens":3}}}` + "\n\n",
			"data: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
				"data: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` +
				"\n\n",
			"data: " + `{"type":"content_block_stop","index":0}` + "\n\n" +
				"data: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` +
				"\n\n" +
				"data: " + `{"type":"message_stop"}` + "\n\n",
		},
		tooLong: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`,
		failed: "event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` +
			"\n\n",
		badJSON: `{"id":"msg_1","type":"message","content":[{"type":"te`,
	},
	{
		name: "chat", model: "gpt-4o",
		client: func(base string, hc *http.Client, o tuning) model.Generator {
			return &openai.ChatClient{
				BaseURL: base + "/v1", Key: key, HTTP: hc, Retries: o.retries, Idle: o.idle, Limit: o.limit,
			}
		},
		whole: `{"id":"c1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
		stream: []string{
			"data: " + `{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` +
				"\n\n",
			"data: " + `{"id":"c1","choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n",
			"data: " + `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
				"data: " + `{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}` +
				"\n\ndata: [DONE]\n\n",
		},
		tooLong: `{"error":{"message":"This model's maximum context length is 200000 tokens. However, your messages resulted in 213462 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		failed:  "data: " + `{"error":{"message":"Overloaded","type":"overloaded_error"}}` + "\n\n",
		badJSON: `{"id":"c1","choices":[{"index":0,"mess`,
	},
	{
		name: "responses", model: "gpt-5.4",
		client: func(base string, hc *http.Client, o tuning) model.Generator {
			return &openai.ResponsesClient{
				BaseURL: base + "/v1", Key: key, HTTP: hc, Retries: o.retries, Idle: o.idle, Limit: o.limit,
			}
		},
		whole: `{"id":"resp_1","model":"m","status":"completed","output":[` + item +
			`],"usage":{"input_tokens":3,"output_tokens":1}}`,
		stream: []string{
			"event: response.created\ndata: " +
				`{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","output":[]}}` + "\n\n",
			"data: " + `{"type":"response.output_text.delta","output_index":0,"delta":"Hello"}` + "\n\n" +
				"data: " + `{"type":"response.output_item.done","output_index":0,"item":` + item + `}` + "\n\n",
			"data: " +
				`{"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","output":[` +
				item + `],"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n",
		},
		tooLong: `{"error":{"message":"Input tokens exceed the configured limit of 200000 tokens. Your messages resulted in 213462 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
		failed:  "data: " + `{"type":"error","code":"overloaded_error","message":"Overloaded"}` + "\n\n",
		badJSON: `{"id":"resp_1","output":[{"type":"mess`,
	},
	{
		name: "gemini", model: "gemini-2.5-pro",
		client: func(base string, hc *http.Client, o tuning) model.Generator {
			return &gemini.Client{BaseURL: base, Key: key, HTTP: hc, Retries: o.retries, Idle: o.idle, Limit: o.limit}
		},
		whole: `{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`,
		stream: []string{
			"data: " + `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"}}],"usageMetadata":{"promptTokenCount":3}}` + "\n\n",
			"data: " + `{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"}}]}` + "\n\n",
			"data: " + `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}` + "\n\n",
		},
		tooLong: `{"error":{"code":400,"message":"The input token count (213462) exceeds the maximum number of tokens allowed (200000).","status":"INVALID_ARGUMENT"}}`,
		failed:  "data: " + `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}` + "\n\n",
		badJSON: `{"candidates":[{"content":{"parts":[{"te`,
	},
}

const item = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]}`

// server answers the n-th request with the n-th answer, over pipes instead of sockets, so
// that it can live inside a bubble where time stands still while everybody waits.
type server struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	got     []*http.Request
	bodies  []string
	conns   chan net.Conn
}

// start runs a server for the rest of the test and returns a client whose connections all
// lead to it.
func start(t *testing.T, answers ...http.HandlerFunc) (*server, *http.Client) {
	t.Helper()
	s := &server{answers: answers, conns: make(chan net.Conn)}
	ctx, cancel := context.WithCancel(context.Background())
	hs := &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case s.conns <- far:
			return near, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	var wg sync.WaitGroup
	wg.Go(func() { hs.Serve(s) })
	t.Cleanup(func() {
		cancel() // for handlers that hang
		transport.CloseIdleConnections()
		hs.Close()
		wg.Wait()
	})
	return s, &http.Client{Transport: transport}
}

func (s *server) Accept() (net.Conn, error) {
	c, ok := <-s.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (s *server) Close() error   { close(s.conns); return nil }
func (s *server) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.got)
	s.got, s.bodies = append(s.got, r), append(s.bodies, string(body))
	s.mu.Unlock()
	if n >= len(s.answers) {
		http.Error(w, "no answer is left", http.StatusTeapot)
		return
	}
	s.answers[n](w, r)
}

func (s *server) tries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// events sends a stream, flushed event by event.
func events(list ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range list {
			io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	}
}

// then does one thing after another.
func then(list ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range list {
			h(w, r)
		}
	}
}

// hang waits until the request is given up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// cut breaks the connection.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// status answers with an error, with headers in pairs.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// textOf is what the answer says.
func textOf(r model.Reply) string {
	var sb strings.Builder
	for _, m := range r.Messages {
		sb.WriteString(m.Text())
	}
	return sb.String()
}
