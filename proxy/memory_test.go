package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// Sessions leave memory when they no longer fit, and go on when they come back.
func TestMemoryOfSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	reports := newReports()
	h, url := startHandler(t, http.HandlerFunc(echo), Options{
		Memory: 4 << 20, Store: store.NewMemory(), Report: reports.add, Sessions: 1000,
	})
	var agents []*agent
	for i := range 60 {
		a := newAgent(protocol.Messages, url, fmt.Sprintf("I am client %d.", i))
		a.say(strings.Repeat(fmt.Sprintf("words of %d ", i), 20_000))
		agents = append(agents, a)
	}
	for range 2 {
		for i, a := range agents {
			reply, err := a.send()
			if err != nil {
				t.Fatalf("client %d: %v", i, err)
			}
			a.history = append(a.history, reply.Messages[0].Raw())
			a.say("Go on.")
		}
	}
	sessions := make(map[store.SessionKey]bool)
	for _, r := range reports.wait(2 * len(agents)) {
		sessions[r.Session] = true
	}
	if m, n := h.Memory(), len(h.Sessions()); m.Used > m.Limit || m.Used == 0 || n == 0 || n == len(agents) {
		t.Errorf("%d sessions are in memory, %+v", n, m)
	}
	if len(sessions) != len(agents) {
		t.Errorf("%d sessions of %d conversations", len(sessions), len(agents))
	}
	h.Close()
	if n := len(h.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A reply that is too large to be held is passed on as it comes, also to clients that do not
// read it; and a stream that never ends is broken off.
func TestMemoryOfReplies(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	const size = 8 << 20
	chunk := strings.Repeat("0123456789abcdef", 1<<10)
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		var to io.Writer = w
		switch r.Header.Get("X-Reply") {
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", chunk)
			}
			return
		case "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			to = z
		}
		w.Header().Set("Content-Type", "application/json")
		for n := 0; n < size && r.Context().Err() == nil; n += len(chunk) {
			_, _ = io.WriteString(to, chunk)
		}
	})
	h, url := startHandler(t, up, Options{Memory: 2 << 20})
	ask := func(i int, kind string) *http.Response {
		a := newAgent(protocol.Messages, url, fmt.Sprintf("I am client %d.", i))
		req, _ := http.NewRequest(http.MethodPost, url+a.path(), bytes.NewReader(a.body()))
		req.Header.Set("X-Reply", kind)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return nil
		}
		return resp
	}
	for i, kind := range []string{"plain", "gzip"} {
		resp := ask(i, kind)
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n != size || err != nil {
			t.Errorf("%s: the client got %d of %d bytes: %v", kind, n, size, err)
		}
	}
	var all sync.WaitGroup
	open := make([]*http.Response, 20)
	for i := range open {
		all.Go(func() { open[i] = ask(10+i, "plain") })
	}
	all.Wait()
	if m := h.Memory(); m.Used > m.Limit*9/8 { // what is written for a session is counted later
		t.Errorf("clients that do not read: %+v", m)
	}
	for _, resp := range open {
		if resp != nil {
			resp.Body.Close()
		}
	}
	resp := ask(50, "stream")
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil || !bytes.Contains(got, []byte("overloaded_error")) {
		t.Errorf("a stream without end: %d bytes, %v", len(got), err)
	}
}

// A large answer is read, and a large first message searched for a summary, without many copies.
func TestMemoryOfLongTexts(t *testing.T) {
	text := strings.Repeat("These are words of a long answer. ", 1<<17)
	answer := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + text +
		`"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}`
	up := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		resp := respond(r, http.StatusOK, nil)
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(answer)), int64(len(answer))
		return resp, nil
	})
	h := newHandler(t, &Options{Store: store.NewMemory(), Anthropic: serveAt("http://127.0.0.1:1"), Transport: up})
	defer h.Close()
	ask := func(talk string) uint64 {
		a := newAgent(protocol.Messages, "", talk)
		a.streams = false
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/messages", bytes.NewReader(a.body()))
		r.URL.Scheme, r.URL.Host = "", ""
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := httptest.NewRecorder()
		w.Body = nil
		h.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if w.Code != http.StatusOK {
			t.Fatalf("status %d", w.Code)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	ask("Load the vocabulary.")
	for _, talk := range []string{
		"Say much.", strings.Repeat("x ", 1<<21), strings.Repeat(strings.Repeat("x ", 50)+"\n", 1<<15),
	} {
		if took, held := ask(talk), uint64(len(talk)+len(answer)); took > 8*held {
			t.Errorf("%.10s: texts of %d bytes took %d bytes", talk, held, took)
		}
	}
}

// Very many tiny messages take far more memory than their bytes: a request that cannot fit is refused
// before it is decoded, one that does not fit beside others is told to wait, and others go on.
func TestMemoryOfTinyMessages(t *testing.T) {
	reports := newReports()
	_, url := startHandler(t, http.HandlerFunc(echo), Options{Memory: 16 << 20, Report: reports.add})
	tiny := `{"model":"m","max_tokens":1,"messages":[` +
		strings.Repeat(`{"role":"user","content":"m"},{"role":"assistant","content":"m"},`, 20_000) +
		`{"role":"user","content":"m"}]}`
	resp, text := fetchJSON(t, url+"/v1/messages", strings.NewReader(tiny))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "too many messages") {
		t.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if _, err := newAgent(protocol.Messages, url, "I am small.").send(); err != nil {
		t.Error(err)
	}
	known := lineage.NewCache(1 << 30)
	full := func(int64) bool { return false }
	if _, err := known.Read(protocol.Messages, "", []byte(tiny), full); err != httpbody.ErrMemory {
		t.Errorf("beside others: %v", err)
	}
	if _, err := known.Read(protocol.Messages, "", []byte(tiny), func(int64) bool { return true }); err != nil {
		t.Fatal(err)
	}
	again := strings.TrimSuffix(tiny, "]}") + `,{"role":"assistant","content":"m"},{"role":"user","content":"n"}]}`
	if _, err := known.Read(protocol.Messages, "", []byte(again), full); err != nil {
		t.Errorf("what is known takes memory again: %v", err)
	}
}
