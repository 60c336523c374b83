package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// Everything that is no conversation passes as it is, both ways.
func TestPassThrough(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("X-Mine")+" "+r.Header.Get("User-Agent"))
		w.Header()["Retry-After"] = []string{"7"}
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
	})
	url := start(t, up, Options{})
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/v1/models?client_version=1;2&x=%zz", ""},
		{"HEAD", "/api/hello", ""},
		{"DELETE", "/v1/files/abc%2Fdef", ""},
		{"POST", "/v1/embeddings", "\x00\x01"},
		{"POST", "/v1/messages/batches", `{"requests":[]}`},
		{"GET", "/v1/responses/resp_1", ""},
	} {
		req, _ := http.NewRequest(tt.method, url+tt.path, strings.NewReader(tt.body))
		req.Header.Set("X-Mine", "yes")
		req.Header.Set("User-Agent", "me/1")
		req.Header.Set("Authorization", "Bearer sk-x")
		resp, got := fetch(t, req)
		want := tt.method + " " + tt.path + " " + tt.body
		if tt.method == "HEAD" {
			want = ""
		}
		if got != want || resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Seen") != "yes me/1" ||
			resp.Header.Get("Retry-After") != "7" {
			t.Errorf("%s %s: %d %q %v", tt.method, tt.path, resp.StatusCode, got, resp.Header)
		}
	}
}

func TestRefused(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{})}
	url := start(t, up, Options{Hosts: []string{"pleat.example"}})
	for _, tt := range []struct {
		host, upgrade string
		want          int
	}{
		{"evil.example", "", http.StatusForbidden},
		{"pleat.example:80", "", http.StatusNotFound},
		{"localhost:1", "", http.StatusNotFound},
		{"[::1]:80", "", http.StatusNotFound},
		{"127.0.0.1", "websocket", http.StatusUpgradeRequired},
	} {
		req, _ := http.NewRequest(http.MethodGet, url+"/v1/responses", nil)
		req.Host = tt.host
		if tt.upgrade != "" {
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", tt.upgrade)
		}
		resp, _ := fetch(t, req)
		if resp.StatusCode != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.host, tt.upgrade, resp.StatusCode, tt.want)
		}
	}
	// Nobody is forwarded to where he wants.
	req, _ := http.NewRequest(http.MethodGet, "http://somewhere.example/v1/models", nil)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(serveAt(url))}}
	resp, err := client.Do(req)
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another host: %d", resp.StatusCode)
	}
}

// Requests may be compressed; so may replies.
func TestCompressed(t *testing.T) {
	pack := map[string]func([]byte) []byte{
		"gzip": func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			w.Write(b)
			w.Close()
			return out.Bytes()
		},
		"deflate": func(b []byte) []byte {
			var out bytes.Buffer
			w := zlib.NewWriter(&out)
			w.Write(b)
			w.Close()
			return out.Bytes()
		},
	}
	o := Options{
		Window: window, Recall: RecallOff, MaxBody: 1 << 30, Store: store.NewMemory(),
		Decoders: map[string]Decoder{"deflate": zlib.NewReader},
	}
	x, err := o.exchange()
	must(t, err)
	for name, compress := range pack {
		t.Run(name, func(t *testing.T) {
			script := upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000, Limit: window})
			var seen []string
			up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				seen = append(seen, r.Header.Get("Content-Encoding"))
				body, err := x.Decoders.Decompress(r.Header.Get("Content-Encoding"), body, x.MaxBody, func(int64) bool { return true })
				if err != nil {
					t.Error(err)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				r.Header.Del("Content-Encoding")
				rec := httptest.NewRecorder()
				script.ServeHTTP(rec, r)
				w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
				w.Header().Set("Content-Encoding", name)
				w.Write(compress(rec.Body.Bytes()))
			})
			a := newAgent(protocol.Responses, start(t, up, o), "Do all the steps.")
			a.client = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				r.Header.Set("Content-Encoding", name)
				r.Header.Set("Accept-Encoding", "identity")
				httpbody.SetRequestBody(r, compress(body))
				return http.DefaultTransport.RoundTrip(r)
			})}
			a.run(t)
			wellBehaved(t, script.Log())
			if seen[0] != name || seen[len(seen)-1] != "" {
				t.Errorf("the first request went out as %q, the last, which is folded, as %q",
					seen[0], seen[len(seen)-1])
			}
		})
	}
}

// A request that cannot be read is refused with what is missing.
func TestNoDecoder(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{})}
	url := start(t, up, Options{})
	req, _ := http.NewRequest(http.MethodPost, url+"/v1/responses", strings.NewReader("(packed)"))
	req.Header.Set("Content-Encoding", "Zstd")
	resp, body := fetch(t, req)
	if resp.StatusCode != http.StatusUnsupportedMediaType ||
		!strings.Contains(body, `no decoder for content encoding \"Zstd\"`) ||
		resp.Header.Get("Accept-Encoding") != "gzip" {
		t.Errorf("the client got %d %s, %v", resp.StatusCode, body, resp.Header)
	}
	if len(up.all()) > 0 {
		t.Error("it went out")
	}
}

// A small body that unpacks to a large one is refused before it fills the memory.
func TestBomb(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	w.Write(make([]byte, 10<<20))
	w.Close()
	up := &capture{to: upstreamtest.New(upstreamtest.Options{})}
	req, _ := http.NewRequest(http.MethodPost, start(t, up, Options{MaxBody: 1 << 20})+"/v1/messages", &bomb)
	req.Header.Set("Content-Encoding", "gzip")
	resp, _ := fetch(t, req)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || len(up.all()) > 0 {
		t.Errorf("the client got %d, %d requests went out", resp.StatusCode, len(up.all()))
	}
}

// Requests go through the web proxy that the options name.
func TestWebProxy(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.String())
	}))
	defer web.Close()
	url := startAt(t, serveAt("http://provider.example"), Options{Proxy: http.ProxyURL(serveAt(web.URL))})
	req, _ := http.NewRequest(http.MethodGet, url+"/v1/models", nil)
	req.Header.Set("X-Api-Key", "key")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); string(got) != "http://provider.example/v1/models" {
		t.Errorf("the web proxy was asked for %s", got)
	}
}

// The proxy speaks HTTP/2 on both sides.
func TestHTTP2(t *testing.T) {
	script := upstreamtest.New(upstreamtest.Options{Calls: 6})
	protos := make(chan string, 100)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protos <- r.Proto
		script.ServeHTTP(w, r)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	transport := newTransport(time.Minute, nil).(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: up.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	h := newHandler(t, &Options{Store: store.NewMemory(), Anthropic: serveAt(up.URL), Transport: transport})
	front := httptest.NewUnstartedServer(h)
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()
	a := newAgent(protocol.Messages, front.URL, "Do all the steps.")
	a.client = front.Client()
	a.run(t)
	if p := <-protos; p != "HTTP/2.0" {
		t.Errorf("upstream got %s", p)
	}
	resp, err := front.Client().Get(front.URL + "/v1/models")
	if err != nil || resp.ProtoMajor != 2 {
		t.Errorf("the client got %v, %v", resp, err)
	}
	resp.Body.Close()
}

// A stream is forwarded as it arrives: the client has each event before the next is
// written. While the proxy waits for an answer to a hidden round it lets the client know.
func TestStreamsAtOnce(t *testing.T) {
	first, second := make(chan string), make(chan string) // the hidden round may begin before the first answer ends
	var calls atomic.Int32
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		step := first
		if calls.Add(1) == 2 {
			step = second
			<-step // the client hears pings meanwhile
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for data := range step {
			if data == "" {
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
		}
	})
	a := newAgent(protocol.Messages, start(t, up, Options{Ping: time.Millisecond}), "Hello.")
	req, _ := http.NewRequest(http.MethodPost, a.url+a.path(), bytes.NewReader(a.body()))
	lines := make(chan string)
	go func() {
		defer close(lines)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me look."}}`,
		`{"type":"content_block_stop","index":0}`,
	} {
		first <- e
		if got := <-lines; got != e {
			t.Fatalf("got %s, want %s", got, e)
		}
	}
	for _, e := range []string{ // none of this is for the client
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"ledger","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`,
		`{"type":"message_stop"}`,
	} {
		first <- e
	}
	first <- "" // the first answer is over
	for range 3 {
		if got := <-lines; got != `{"type": "ping"}` {
			t.Fatalf("got %s, want a ping", got)
		}
	}
	go func() {
		for _, e := range []string{
			"go on",
			`{"type":"message_start","message":{"id":"m2","usage":{"input_tokens":50,"cache_read_input_tokens":3,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`, "",
		} {
			second <- e
		}
	}()
	var got []string
	for l := range lines {
		if l != `{"type": "ping"}` {
			got = append(got, l)
		}
	}
	want := []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Done."}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":16,"input_tokens":50,"cache_read_input_tokens":3}}`,
		`{"type":"message_stop"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The tokens of a conversation are counted with its folds and its recall tools, also before anything is folded,
// and counting changes nothing.
func TestCountTokens(t *testing.T) {
	young := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 9, Bytes: 400})}
	b := newAgent(protocol.Messages, start(t, young, Options{}), "Do all the steps.")
	b.turns(t, 2)
	fetch(t, countRequest(b))
	b.turn(t)
	if list := young.all(); !bytes.Equal(list[2], list[3]) {
		t.Errorf("counted as\n%s\nthe request is\n%s", list[2], list[3])
	}
	a, up, r := folding(t, protocol.Messages, Options{})
	sent := len(up.all())
	fetch(t, countRequest(a))
	got, last := up.all()[sent], up.all()[sent-1]
	if len(got) > len(last)+2_000 {
		t.Errorf("%d bytes were counted, the last request had %d, the client's %d", len(got), len(last), len(a.body()))
	}
	if x := r.wait(sent + 1)[sent]; x.Epochs != 0 {
		t.Error("counting opened an epoch")
	}
}

func countRequest(a *agent) *http.Request {
	req, _ := http.NewRequest(http.MethodPost, a.url+"/v1/messages/count_tokens?beta=true", bytes.NewReader(a.body()))
	req.Header.Set("X-Api-Key", a.key)
	return req
}

// What lies with the provider in part passes as it is.
func TestPartial(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{})}
	url := start(t, up, Options{})
	body := `{"model":"m","previous_response_id":"resp_1","input":[{"role":"user","content":"x"}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}]}`
	fetchJSON(t, url+"/v1/responses", strings.NewReader(body))
	if got := string(up.all()[0]); got != body {
		t.Errorf("went out as %s", got)
	}
}

// A hundred megabytes are taken; what is beyond the limit is refused in the wire's words.
func TestLargeBodies(t *testing.T) {
	size := 0
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		size = int(n)
		w.WriteHeader(http.StatusTooManyRequests)
	})
	url := start(t, up, Options{Recall: RecallOff, MaxBody: 101 << 20})
	body := func(n int) io.Reader {
		return io.MultiReader(strings.NewReader(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"`),
			io.LimitReader(zeros{}, int64(n)), strings.NewReader(`"}]}`))
	}
	resp, _ := fetchJSON(t, url+"/v1/messages", body(100<<20))
	if resp.StatusCode != http.StatusTooManyRequests || size < 100<<20 {
		t.Errorf("status %d, %d bytes arrived", resp.StatusCode, size)
	}
	resp, text := fetchJSON(t, url+"/v1/messages", body(102<<20))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "request_too_large") {
		t.Errorf("status %d %s", resp.StatusCode, text)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// With recall by file a stub names a file that has exactly what was folded.
func TestRecallFile(t *testing.T) {
	dir := t.TempDir()
	a, up, _ := folding(t, protocol.Messages, Options{Recall: RecallByFile, RecallDir: dir})
	body := string(up.all()[len(up.all())-1])
	exact, stretches := 0, 0
	for _, m := range regexp.MustCompile("read ("+dir+`\S+\.txt)`).FindAllStringSubmatch(body, -1) {
		text := readFile(t, m[1])
		lit := fmt.Sprintf("%q", text)
		switch {
		case strings.HasPrefix(text, "--- message "): // several messages, written out
			stretches++
		case strings.Contains(strings.Join(a.history, ""), lit[1:len(lit)-1]):
			exact++
		default:
			t.Errorf("%s is not what the client had: %.100s", m[1], text)
		}
	}
	if exact+stretches == 0 {
		t.Error("no stub names a file")
	}
	if strings.Contains(body, `"name":"unfold"`) {
		t.Error("recall tools are there too")
	}
}

// A redirect is the client's to follow, and no answer that could not be read.
func TestRedirect(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	r := newReports()
	a := newAgent(protocol.Chat, start(t, up, Options{Report: r.add}), "Hello.")
	a.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := a.send(); err == nil {
		t.Error("the client got an answer")
	}
	if got := r.wait(1)[0]; got.Err != nil || got.Status != http.StatusTemporaryRedirect {
		t.Errorf("status %d, %v", got.Status, got.Err)
	}
}

// An upstream that speaks no TLS is told from one that is gone.
func TestUpstreamWithoutTLS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	a := newAgent(protocol.Messages, startAt(t, serveAt(strings.Replace(plain.URL, "http:", "https:", 1)), Options{}), "Hello.")
	if _, err := a.send(); err == nil || !strings.Contains(err.Error(), "does not look like a TLS handshake") {
		t.Errorf("the client got %v", err)
	}
}

// Where the upstream cannot be reached, the client is told which one, and why.
func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	host := strings.TrimPrefix(gone.URL, "http://")
	base := serveAt(gone.URL)
	h := newHandler(t, &Options{Gemini: base, Store: store.NewMemory()})
	defer h.Close()
	r := httptest.NewRequest(http.MethodPost, "/v1beta/models/m:generateContent?key=hunter2", strings.NewReader(`{}`))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != http.StatusBadGateway ||
		!strings.Contains(got, "no reply from "+host+": dial tcp") ||
		strings.Contains(got, "hunter2") {
		t.Errorf("the client got %d %s", w.Code, got)
	}
}

// A transport keeps to what http.RoundTripper says of requests: one without a header is an error, and
// a reply names the request that it was given.
func TestTransportRequests(t *testing.T) {
	answer := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Request: r}, nil
	})
	tr := transportOf(t, &Options{Store: store.NewMemory(), Transport: answer})
	defer tr.Close()
	const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello."}]}`
	for _, header := range []http.Header{nil, {}} {
		r := httptest.NewRequest(http.MethodPost, "http://upstream.test/v1/messages", strings.NewReader(body))
		r.Header = header
		resp, err := tr.RoundTrip(r)
		if (err == nil) != (header != nil) || err == nil && resp.Request != r {
			t.Errorf("header %v: %v", header, err)
		}
	}
}

// A reply in an encoding that nobody asked for is passed on as it is.
func TestReplyInAnotherEncoding(t *testing.T) {
	const packed = "\x0b\x02\x80not really brotli\x03"
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Encoding", "br")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, packed)
	})
	a := newAgent(protocol.Messages, start(t, up, Options{}), "Hello.")
	req, _ := http.NewRequest(http.MethodPost, a.url+a.path(), strings.NewReader(string(a.body())))
	req.Header.Set("Accept-Encoding", "br")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != packed ||
		resp.Header.Get("Content-Encoding") != "br" {
		t.Errorf("the client got %d %q %v: %v", resp.StatusCode, got, resp.Header, err)
	}
}

// An upstream may answer before it has read the request, and the answer is complete. The
// transport reads the rest of the request while the client already gets its reply.
func TestAnswerBeforeTheBodyIsRead(t *testing.T) {
	answer := strings.Repeat("an answer of the provider ", 40)
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Early") != "" {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.WriteString(w, answer[:10])
			w.(http.Flusher).Flush()
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != int64(len(answer)) {
			t.Errorf("%s: the provider got %d bytes: %v", r.URL.Path, n, err)
		}
		if r.Header.Get("X-Early") != "" {
			_, _ = io.WriteString(w, answer[10:])
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	url := start(t, up, Options{})
	paths := []string{
		"/v1/embeddings", "/v1/files", "/v1/messages/batches", "/v1/user_profiles", "/v1beta/cachedContents",
	}
	methods := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	lost := 0
	for i := range 2000 {
		path, method := paths[i%len(paths)], methods[i/len(paths)%len(methods)]
		var body io.Reader = strings.NewReader(answer)
		if i%3 == 0 {
			body = io.NopCloser(body) // no length: in chunks
		}
		req, _ := http.NewRequest(method, url+path, body)
		req.Header.Set("Authorization", "Bearer sk-x")
		if i%2 == 0 {
			req.Header.Set("X-Early", "yes")
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != answer {
			if lost++; lost < 5 {
				t.Errorf("%s %s: %d of %d bytes: %v", method, path, len(got), len(answer), err)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of 2000 answers were cut off", lost)
	}
}

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

// TestTransportClosesConnections: no connection stays open after Close of a transport that made its own, and
// after CloseIdleConnections of the client of one that was given one.
func TestTransportClosesConnections(t *testing.T) {
	for _, given := range []*http.Transport{nil, {}} {
		closed := make(chan bool, 4)
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		up.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- true
			}
		}
		up.Start()
		o := &Options{Store: store.NewMemory()}
		if given != nil {
			o.Transport = given
		}
		tr := transportOf(t, o)
		client := &http.Client{Transport: tr}
		resp, err := client.Get(up.URL + "/v1/models")
		must(t, err)
		resp.Body.Close()
		if given != nil {
			client.CloseIdleConnections()
		}
		must(t, tr.Close())
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Error("its connection is open")
		}
		up.Close()
	}
}

// A proxy whose upstream leads back to it says so, and does not ask itself without end.
func TestLoop(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	self := serveAt("http://" + srv.Listener.Addr().String())
	srv.Config.Handler = newHandler(t, &Options{Store: store.NewMemory(), OpenAI: self})
	srv.Start()
	t.Cleanup(srv.Close)
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		req, _ := http.NewRequest(http.MethodPost, self.String()+path, strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
		req.Header.Set("Authorization", "Bearer sk-x")
		if resp, got := fetch(t, req); resp.StatusCode != http.StatusLoopDetected || !strings.Contains(got, "leads back") {
			t.Errorf("%s: %s %s", path, resp.Status, got)
		}
	}
}
