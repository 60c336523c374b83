package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/exchange"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// agent is a client like many: it keeps its whole history, sends it with every request
// and runs the commands that the model asks for.
type agent struct {
	on      *protocol.Protocol
	url     string
	client  *http.Client
	history []string
	streams bool
	model   string
	key     string
	header  http.Header
	tools   string // JSON; empty: a shell
	extra   string // members of every request, with a comma before each
	to      string // path; empty: the wire's own
	bodies  [][]byte
}

var (
	commandStep  = regexp.MustCompile(`printf "step (\d+) line`)
	commandLines = regexp.MustCompile(`i<(\d+);`)
)

// output is what the upstream's awk command prints.
func output(command string) string {
	s, n := commandStep.FindStringSubmatch(command), commandLines.FindStringSubmatch(command)
	if s == nil || n == nil {
		return "ran: " + command
	}
	step, _ := strconv.Atoi(s[1])
	lines, _ := strconv.Atoi(n[1])
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "step %d line %d value %d\n", step, i, (step*7919+i*104729)%1000003)
	}
	fmt.Fprintf(&b, "step-%d-done\n", step)
	return b.String()
}

func newAgent(on *protocol.Protocol, url, prompt string) *agent {
	a := &agent{on: on, url: url, client: http.DefaultClient, streams: true, model: "small-model", key: "key"}
	if on == protocol.Gemini {
		a.model = "gemini-3.8-flash" // which wants signatures
	}
	a.say(prompt)
	return a
}

// say adds a message of the user.
func (a *agent) say(text string) {
	lit, _ := json.Marshal(text)
	content := `"content":` + string(lit)
	if a.on == protocol.Gemini {
		content = `"parts":[{"text":` + string(lit) + `}]`
	}
	a.history = append(a.history, `{"role":"user",`+content+`}`)
}

func (a *agent) toolList() string {
	const schema = `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`
	return cmp.Or(a.tools, map[*protocol.Protocol]string{
		protocol.Messages:  `[{"name":"bash","description":"Run.","input_schema":` + schema + `}]`,
		protocol.Chat:      `[{"type":"function","function":{"name":"bash","description":"Run.","parameters":` + schema + `}}]`,
		protocol.Responses: `[{"type":"function","name":"bash","description":"Run.","parameters":` + schema + `}]`,
		protocol.Gemini: `[{"functionDeclarations":[{"name":"bash","description":"Run.","parametersJsonSchema":` + schema +
			`}]}]`,
	}[a.on])
}

func (a *agent) body() []byte {
	tools := a.toolList()
	extra := map[*protocol.Protocol]string{
		protocol.Messages:  `,"max_tokens":1000,"system":"You work."`,
		protocol.Chat:      `,"stream_options":{"include_usage":true}`,
		protocol.Responses: `,"store":false`,
		protocol.Gemini:    `,"systemInstruction":{"parts":[{"text":"You work."}]}`,
	}[a.on]
	if a.on == protocol.Chat && !a.streams {
		extra = ""
	}
	if tools != "none" {
		extra += `,"tools":` + tools
	}
	if a.on == protocol.Gemini {
		return fmt.Appendf(nil, `{"contents":[%s]%s}`, strings.Join(a.history, ","), extra+a.extra)
	}
	return fmt.Appendf(nil, `{"model":%q,"stream":%t,"%s":[%s]%s}`, a.model, a.streams, a.on.Array,
		strings.Join(a.history, ","), extra+a.extra)
}

func (a *agent) path() string {
	return cmp.Or(a.to, pathOf(a.on, a.model, a.streams))
}

func pathOf(on *protocol.Protocol, model string, streams bool) string {
	if on == protocol.Gemini && streams {
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return map[*protocol.Protocol]string{
		protocol.Messages: "/v1/messages", protocol.Chat: "/v1/chat/completions", protocol.Responses: "/v1/responses", protocol.Gemini: "/v1/models/" +
			model +
			":generateContent",
	}[on]
}

// send sends the history and returns the model's answer as this client understands it.
func (a *agent) send() (model.Reply, error) {
	body := a.body()
	a.bodies = append(a.bodies, body)
	req, err := http.NewRequest(http.MethodPost, a.url+a.path(), bytes.NewReader(body))
	if err != nil {
		return model.Reply{}, err
	}
	for k, v := range a.header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	switch a.on {
	case protocol.Messages:
		req.Header.Set("X-Api-Key", a.key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	case protocol.Gemini:
		if strings.Contains(a.to, "key=") {
			break
		}
		req.Header.Set("X-Goog-Api-Key", a.key)
	default:
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return model.Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return model.Reply{}, model.ClassifyError(resp.StatusCode, "", text)
	}
	if !a.streams {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return model.Reply{}, err
		}
		return a.on.Reply(text)
	}
	rec := a.on.Record()
	if _, err := io.Copy(rec, resp.Body); err != nil {
		return model.Reply{}, err
	}
	return rec.Reply()
}

// step is one turn: it reports whether the model wants another.
func (a *agent) step() (bool, error) {
	reply, err := a.send()
	if err != nil {
		return false, err
	}
	if reply.Err != nil {
		return false, reply.Err
	}
	return a.take(reply)
}

// turn is a step that is answered.
func (a *agent) turn(t *testing.T) bool {
	t.Helper()
	more, err := a.step()
	must(t, err)
	return more
}

// turns takes n turns.
func (a *agent) turns(t *testing.T, n int) {
	t.Helper()
	for range n {
		a.turn(t)
	}
}

// ask sends the history and leaves the answer.
func (a *agent) ask(t *testing.T) {
	t.Helper()
	if _, err := a.send(); err != nil {
		t.Fatal(err)
	}
}

// take adds an answer and the results of its calls to the history.
func (a *agent) take(reply model.Reply) (bool, error) {
	var calls []transcript.ToolCall
	var results []transcript.ToolResult
	for _, m := range reply.Messages {
		a.history = append(a.history, m.Raw())
		for _, b := range m.Blocks().All() {
			c, ok := b.(transcript.ToolCall)
			if !ok {
				continue
			}
			if c.Name != "bash" {
				return false, fmt.Errorf("the client got a call of %q", c.Name)
			}
			var args struct{ Command string }
			if err := json.Unmarshal([]byte(c.Input.String()), &args); err != nil {
				return false, err
			}
			calls, results = append(calls, c), append(results, transcript.Result(c.ID, output(args.Command)))
		}
	}
	if len(results) == 0 {
		return false, nil
	}
	msgs, err := a.on.Answer(calls, results)
	if err != nil {
		return false, err
	}
	for _, m := range msgs {
		a.history = append(a.history, m.Raw())
	}
	return true, nil
}

// run goes on until the model has had enough.
func (a *agent) run(t *testing.T) {
	t.Helper()
	for i := 0; ; i++ {
		more, err := a.step()
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		if !more {
			return
		}
	}
}

// serve starts an upstream.
func serve(t *testing.T, h http.Handler) *url.URL {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	u, _ := url.Parse(srv.URL)
	return u
}

func serveAt(text string) *url.URL {
	u, _ := url.Parse(text)
	return u
}

// start starts a proxy before an upstream and returns where it listens.
func start(t *testing.T, to http.Handler, o Options) string {
	t.Helper()
	_, url := startHandler(t, to, o)
	return url
}

// startHandler is start for tests that look at the handler, too.
func startHandler(t *testing.T, to http.Handler, o Options) (*Handler, string) {
	t.Helper()
	return handlerAt(t, serve(t, to), o)
}

// startAt starts a proxy before an upstream that runs already.
func startAt(t *testing.T, u *url.URL, o Options) string {
	t.Helper()
	_, at := handlerAt(t, u, o)
	return at
}

func handlerAt(t *testing.T, u *url.URL, o Options) (*Handler, string) {
	t.Helper()
	o.Anthropic, o.OpenAI, o.Gemini = u, u, u
	if o.Store == nil {
		o.Store = store.NewMemory()
	}
	h := newHandler(t, &o)
	return h, serve(t, h).String()
}

func newHandler(t *testing.T, o *Options) *Handler {
	t.Helper()
	h, err := NewHandler(o)
	must(t, err)
	return h
}

func transportOf(t *testing.T, o *Options) *Transport {
	t.Helper()
	tr, err := NewTransport(o)
	must(t, err)
	return tr
}

// roundTripFunc is a transport.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond makes a provider's reply to a request.
func respond(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// fetch sends a request and returns the reply with all that its body has.
func fetch(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	return resp, string(body)
}

// fetchJSON posts a body.
func fetchJSON(t *testing.T, url string, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, url, body)
	req.Header.Set("Content-Type", "application/json")
	return fetch(t, req)
}

// written waits until a proxy has stored what it was sent: then another can go on with it.
func written(t *testing.T, rw *exchange.Rewriter) {
	t.Helper()
	must(t, rw.Written(t.Context()))
}

// eachWire runs a test for every wire, streaming and not.
func eachWire(t *testing.T, f func(t *testing.T, on *protocol.Protocol, streams bool)) {
	for name, on := range map[string]*protocol.Protocol{
		"messages": protocol.Messages, "chat": protocol.Chat, "responses": protocol.Responses,
		"gemini": protocol.Gemini,
	} {
		for _, streams := range []bool{true, false} {
			if testing.Short() && !(on == protocol.Messages && streams) && !(on == protocol.Responses && !streams) {
				continue // the same code; without -short every wire is run
			}
			t.Run(fmt.Sprintf("%s/stream=%t", name, streams), func(t *testing.T) { f(t, on, streams) })
		}
	}
}

// wellBehaved fails the test for every rule that a request broke.
func wellBehaved(t *testing.T, log []upstreamtest.Exchange) {
	t.Helper()
	for i, x := range log {
		for _, v := range x.Violations {
			t.Errorf("request %d (%s, step %d) is illegal: %s", i, x.Wire, x.Step, v)
		}
	}
}

// reports collects what the proxy tells.
type reports struct {
	mu   sync.Mutex
	cond *sync.Cond
	list []Exchange
}

func newReports() *reports {
	r := &reports{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *reports) add(one Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
	r.cond.Broadcast()
}

// wait waits for n reports: a client may have its answer before the report is made.
func (r *reports) wait(n int) []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.list) < n {
		r.cond.Wait()
	}
	return slices.Clone(r.list)
}

// get returns the value at a path of JSON.
func get(data []byte, path ...any) jsonspan.Value { return jsonspan.Value(data).Get(path...) }

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	return string(data)
}

var must = difftest.Must
