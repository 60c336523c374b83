package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

const plainReply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// An upstream that breaks off in the middle of a stream: the client sees that the answer
// is not complete, and its second try is the same conversation.
func TestUpstreamResets(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		good := upstreamtest.New(upstreamtest.Options{Calls: 4, Bytes: 2_000})
		n := 0
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n != 3 {
				good.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			good.ServeHTTP(rec, r)
			w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
			w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
			w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		r := newReports()
		a := newAgent(on, start(t, up, Options{Report: r.add}), "Do all the steps.")
		a.streams = streams
		failed := 0
		for {
			more, err := a.step()
			if err != nil {
				if failed++; failed > 1 {
					t.Fatal(err)
				}
				continue
			}
			if !more {
				break
			}
		}
		if failed != 1 {
			t.Errorf("the client saw %d broken answers", failed)
		}
		list := r.wait(len(a.bodies))
		for _, x := range list {
			if x.Session != list[0].Session {
				t.Error("the second try is another session")
			}
		}
	})
}

// An upstream that says nothing is given up, before its header and after.
func TestSilentUpstream(t *testing.T) {
	for _, begins := range []bool{false, true} {
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if begins {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w,
					"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		a := newAgent(protocol.Messages, start(t, up, Options{Timeout: 50 * time.Millisecond}), "Hello.")
		_, err := a.send()
		var e *model.APIError
		if !begins && (!errors.As(err, &e) || e.Status != http.StatusGatewayTimeout) {
			t.Errorf("before the header the client got %v", err)
		}
		if begins && err == nil {
			t.Error("a stream that fell silent ended well")
		}
	}
}

// What is no request of the wire goes to the provider as it is, and its words come back.
func TestMalformed(t *testing.T) {
	const words = `{"type":"error","error":{"type":"invalid_request_error","message":"not JSON\u00e9"}}  `
	up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "req_1")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, words)
	})}
	url := start(t, up, Options{})
	bodies := []string{`{"model":`, ``, `[]`, `{"messages":"x"}`, "\x00\xff", `{"messages":[` +
		strings.Repeat(`[`, 20_000), `{"model":"m","messages":[]}`}
	for i, body := range bodies {
		for _, path := range []string{
			"/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/messages/count_tokens",
			"/v1beta/models/m:generateContent",
		} {
			resp, got := fetchJSON(t, url+path, strings.NewReader(body))
			if resp.StatusCode != http.StatusBadRequest || got != words ||
				resp.Header.Get("Request-Id") != "req_1" {
				t.Errorf("%d %s: %d %q", i, path, resp.StatusCode, got)
			}
			if sent := up.all()[len(up.all())-1]; string(sent) != body {
				t.Errorf("%d %s: went out as %q", i, path, sent)
			}
		}
	}
}

// A client that promises more than it sends, or sends it drop by drop, holds nobody up.
func TestBrokenClients(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{})}
	url := start(t, up, Options{Timeout: time.Second}) // enough for those who behave
	for text, want := range map[string]string{
		"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"model\":\"m\"":            "",
		"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"mod\r\nzz\r\n": "HTTP/1.1 400 ",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		must(t, err)
		io.WriteString(c, text)
		got, _ := io.ReadAll(c) // until the proxy has had enough
		c.Close()
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("%q got %q, not %q", text, got, want)
		}
	}
	if n := len(up.all()); n != 0 {
		t.Errorf("%d requests went out", n)
	}
	a := newAgent(protocol.Messages, url, "Do all the steps.")
	a.run(t)
}

// A client that goes away takes its request to the provider with it.
func TestCancel(t *testing.T) {
	gone := make(chan struct{})
	begun := make(chan struct{})
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\n\n")
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	a := newAgent(protocol.Messages, start(t, up, Options{}), "Hello.")
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, a.url+a.path(), bytes.NewReader(a.body()))
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	<-begun
	cancel()
	resp.Body.Close()
	<-gone
}

// broken is a store that can be made to fail.
type broken struct {
	store.Store
	writes, reads atomic.Bool
}

var errDisk = errors.New("no space left on device")

func (b *broken) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if b.writes.Load() {
		return 0, errDisk
	}
	return b.Store.Append(ctx, key, last, entries...)
}

func (b *broken) Find(
	ctx context.Context, tenant string, kind store.EntryKind, labels ...string,
) ([]store.Found, error) {
	if b.reads.Load() {
		return nil, errDisk
	}
	return b.Store.Find(ctx, tenant, kind, labels...)
}

func (b *broken) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	if b.reads.Load() {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errDisk) }
	}
	return b.Store.Scan(ctx, key, from, kinds...)
}

func (b *broken) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if b.reads.Load() {
		return nil, errDisk
	}
	return b.Store.Body(ctx, key, hash)
}

// A store that fails: what is known is replayed, nothing new is folded, and what is known
// to overflow never goes out whole. When the store is back everything goes on.
func TestStoreFails(t *testing.T) {
	for _, reads := range []bool{false, true} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			store := &broken{Store: store.NewMemory()}
			up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, Limit: window})}
			a := newAgent(on, start(t, up, Options{Window: window, Store: store}), "Do all the steps.")
			a.streams = streams
			fail := func(on bool) { store.writes.Store(on); store.reads.Store(on && reads) }
			refused, passed := 0, 0
			for i := 0; ; i++ {
				fail(i%6 >= 3) // three turns well, then as many as go
				more, err := a.step()
				var e *model.APIError
				if errors.As(err, &e) && e.Status == http.StatusServiceUnavailable {
					if refused++; !store.writes.Load() {
						t.Fatal("refused with a store that works")
					}
					i += 6 - i%6 - 1 // it is mended
					continue
				}
				must(t, err)
				if store.writes.Load() {
					passed++
				}
				if !more {
					break
				}
			}
			log := up.to.(*upstreamtest.Server).Log()
			wellBehaved(t, log)
			for i, x := range log {
				if x.Status != http.StatusOK {
					t.Errorf("request %d of %d tokens was refused by the provider", i, x.Tokens)
				}
			}
			if refused == 0 || passed == 0 {
				t.Errorf("%d refused, %d passed without a store: the test shows nothing", refused, passed)
			}
		})
	}
}

// The clock may say what it likes.
func TestClockJumps(t *testing.T) {
	times := []time.Time{time.Unix(1e9, 0), time.Unix(2e9, 0), {}, time.Unix(5e8, 0), time.Unix(4e9, 0)}
	var n atomic.Int64
	now := func() time.Time { return times[int(n.Add(1))%len(times)] }
	up := upstreamtest.New(upstreamtest.Options{Calls: 16, Bytes: 12_000, Limit: window})
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Now: now}), "Do all the steps.")
	a.run(t)
	wellBehaved(t, up.Log())
}

// echo is a model that says what its user said first, so that every client knows whether
// an answer is its own.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	req, err := protocol.Messages.Read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := req.Messages[0].Text()
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`,
			said+" / "+fmt.Sprint(len(req.Messages))),
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	} {
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

// Many conversations at once: each client gets its own answers, and afterwards
// nothing is left running.
func TestManySessions(t *testing.T) {
	clients, turns := 200, 3
	if n, err := strconv.Atoi(os.Getenv("PLEAT_SESSIONS")); err == nil {
		clients = n // CI has a thousand
	}
	before := runtime.NumGoroutine()
	up := httptest.NewServer(http.HandlerFunc(echo))
	transport := newTransport(time.Minute, nil).(*http.Transport)
	h := newHandler(t, &Options{
		Store: store.NewMemory(), Anthropic: serveAt(up.URL), Transport: transport, Sessions: 100,
	})
	front := httptest.NewServer(h)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			a := newAgent(protocol.Messages, front.URL, fmt.Sprintf("I am client %d.", i))
			a.client = client
			for turn := range turns {
				reply, err := a.send()
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				want := fmt.Sprintf("I am client %d. / %d", i, 2*turn+1)
				if got := reply.Messages[0].Text(); got != want {
					t.Errorf("client %d got %q, want %q", i, got, want)
				}
				a.history = append(a.history, reply.Messages[0].Raw())
				a.say("And then?")
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	front.Close()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	up.Close()
	for i := 0; runtime.NumGoroutine() > before+2; i++ {
		if i == 10_000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
		if i > 1000 {
			runtime.GC()
		}
	}
}

// A server that is shut down ends its streams first.
func TestShutdown(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
		w.(http.Flusher).Flush()
		close(begun)
		<-release
		fmt.Fprintf(w, plainReply, 10)
	}))
	defer up.Close()
	h := newHandler(t, &Options{Store: store.NewMemory(), Anthropic: serveAt(up.URL)})
	front := httptest.NewServer(h)
	a := newAgent(protocol.Messages, front.URL, "Hello.")
	answered := make(chan error, 1)
	go func() {
		_, err := a.send()
		answered <- err
	}()
	<-begun
	down := make(chan error, 1)
	go func() { down <- front.Config.Shutdown(context.Background()) }()
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the answer that was under way: %v", err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// rounds is a request of thirty rounds, with more messages behind them. It has some 20,000 tokens.
func rounds(t *testing.T, more ...map[string]any) []byte {
	t.Helper()
	type o = map[string]any
	ms := []o{{"role": "user", "content": "Look at all of it."}}
	for i := range 30 {
		id := fmt.Sprint("c", i)
		ms = append(ms, o{"role": "assistant", "content": []o{
			{"type": "tool_use", "id": id, "name": "bash", "input": o{"command": fmt.Sprint("cat ", i)}},
		}}, o{"role": "user", "content": []o{
			{"type": "tool_result", "tool_use_id": id, "content": fmt.Sprintf("%0900d", i)},
		}})
	}
	tools := []o{{"name": "bash", "input_schema": o{"type": "object"}}}
	body, err := json.Marshal(o{
		"model": "claude-sonnet-5-5", "max_tokens": 100, "tools": tools, "messages": append(ms, more...),
	})
	must(t, err)
	return body
}

// post sends a request through a proxy in front of a model that says yes, and returns the answer and
// what it says. The model keeps what it got.
func post(t *testing.T, tr http.RoundTripper, up *atomic.Pointer[[]byte], body []byte) (*http.Response, string) {
	t.Helper()
	up.Store(nil)
	r, err := (&http.Client{Transport: tr}).Post("http://model.test/v1/messages",
		"application/json", bytes.NewReader(body))
	must(t, err)
	defer r.Body.Close()
	said, err := io.ReadAll(r.Body)
	must(t, err)
	return r, string(said)
}

// yes is a model that keeps the last request.
type yes struct{ last *atomic.Pointer[[]byte] }

func (y yes) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	y.last.Store(&body)
	return respond(r, http.StatusOK, []byte(`{"id":"m","type":"message","role":"assistant","model":"m",`+
		`"content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":1}}`)), err
}

// failing is a lever of another program.
type failing struct{ panics bool }

func (failing) Name() string { return "failing" }

func (f failing) Pull(context.Context, *fold.Draft) error {
	if f.panics {
		panic("my bug")
	}
	return errors.New("my classifier is down")
}

// TestLeverFails: a request is folded by the levers that do not fail.
func TestLeverFails(t *testing.T) {
	for _, l := range []failing{{}, {true}} {
		p := policy.Default()
		p.AtRed = fold.Steps{l, lever.Squeeze{}}
		var last atomic.Pointer[[]byte]
		var got Exchange
		tr := transportOf(t, &Options{
			Store: store.NewMemory(), Policy: p, Window: 8_000, Transport: yes{&last},
			Report: func(e Exchange) { got = e },
		})
		if r, said := post(t, tr, &last, rounds(t)); r.StatusCode != http.StatusOK || got.Err != nil || !got.Folded {
			t.Errorf("%s: %s; %v, folded: %t", r.Status, said, got.Err, got.Folded)
		}
	}
}

// TestWrongOptions: options of a session that make no sense are the answer to the first request, though
// it fits, and not taken for a store that may be there later.
func TestWrongOptions(t *testing.T) {
	if _, err := NewTransport(&Options{Store: (*store.Memory)(nil)}); err == nil {
		t.Error("a pointer to no store is taken for one")
	}
	var last atomic.Pointer[[]byte]
	tr := transportOf(t, &Options{
		Store: store.NewMemory(), Transport: yes{&last},
		Session: func(_ store.SessionKey, o *pleat.Options) { o.Budget.Window = -4 },
	})
	r, said := post(t, tr, &last, rounds(t))
	if r.StatusCode != http.StatusInternalServerError || r.Header.Get("X-Should-Retry") != "false" ||
		!strings.Contains(said, "a window of -4 tokens") || last.Load() != nil {
		t.Errorf("%s with %v: %s", r.Status, r.Header, said)
	}
}

// TestIllegalStays: a view in force that is no longer legal does not go out. Where no other is found, the
// client's own bytes do: a conversation never ends with an error of pleat's.
func TestIllegalStays(t *testing.T) {
	var strict atomic.Bool
	var last atomic.Pointer[[]byte]
	tr := transportOf(t, &Options{
		Store: store.NewMemory(), Window: 8_000, Transport: yes{&last},
		Session: func(_ store.SessionKey, o *pleat.Options) {
			o.Check = func(v transcript.View, t *transcript.Transcript) error {
				if strict.Load() && !v.IsWhole(t.Len()) {
					return fmt.Errorf("folds: %w", transcript.ErrIllegal)
				}
				return nil
			}
		},
	})
	if r, said := post(t, tr, &last, rounds(t)); r.StatusCode != http.StatusOK || len(*last.Load()) > 20_000 {
		t.Fatalf("the first request is not folded: %s %s", r.Status, said)
	}
	strict.Store(true)
	body := rounds(t, map[string]any{"role": "user", "content": "Wait."})
	r, said := post(t, tr, &last, body)
	if sent := last.Load(); r.StatusCode != http.StatusOK || sent == nil || !bytes.Equal(*sent, body) {
		t.Errorf("%s %s, sent: %t", r.Status, said, sent != nil)
	}
}
