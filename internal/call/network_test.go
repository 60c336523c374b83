package call_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// A redirect must not take the key and the conversation to another host.
func TestRedirect(t *testing.T) {
	for _, w := range wires {
		for _, code := range []int{301, 302, 303, 307, 308} {
			var reached atomic.Bool
			thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
			defer thief.Close()
			honest := httptest.NewServer(http.RedirectHandler(thief.URL+"/v1/other?token=1", code))
			defer honest.Close()
			_, err := w.client(honest.URL, nil, tuning{}).Generate(t.Context(), request(w.model), nil)
			if err == nil || !strings.Contains(err.Error(), "not followed") ||
				!strings.Contains(err.Error(), thief.URL+"/v1/other,") {
				t.Errorf("%s, %d: got %v", w.name, code, err)
			}
			if reached.Load() {
				t.Errorf("%s, %d: the other host was asked", w.name, code)
			}
		}
	}
}

// Over real sockets, with the answer in pieces of every size.
func TestLoopback(t *testing.T) {
	for _, w := range wires {
		all := strings.Join(w.stream, "")
		for _, size := range []int{1, 7, 64, len(all)} {
			s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				for rest := all; rest != ""; {
					n := min(size, len(rest))
					io.WriteString(rw, rest[:n])
					rw.(http.Flusher).Flush()
					rest = rest[n:]
				}
			}))
			reply, err := w.client(s.URL, nil, tuning{}).Generate(t.Context(), request(w.model), nil)
			if err != nil || textOf(reply) != "Hello" {
				t.Errorf("%s in pieces of %d: %q, %v", w.name, size, textOf(reply), err)
			}
			s.Close()
		}
	}
}

// Where nothing listens, nobody waits.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.Close()
	for _, w := range wires {
		_, err := w.client("http://"+l.Addr().String(), nil, tuning{}).Generate(t.Context(), request(w.model), nil)
		if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
			t.Errorf("%s: got %v", w.name, err)
		}
	}
}

// What cannot be an address is not quoted: it may have a password.
func TestNoAddress(t *testing.T) {
	for _, w := range wires {
		_, err := w.client("http://u:hunter2#w@h", nil, tuning{}).Generate(t.Context(), request(w.model), nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", w.name, err)
		}
	}
}

// A retry is logged, without the key.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, hc := start(t, status(429, `{"error":{"message":"slow down, `+key+`"}}`), events(wires[0].stream...))
		var log bytes.Buffer
		c := &anthropic.Client{ClientOptions: model.ClientOptions{
			BaseURL: "http://model.test", Key: key, HTTP: hc, Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		}}
		if _, err := c.Generate(t.Context(), request("m"), nil); err != nil {
			t.Fatal(err)
		}
		c.Logger.Info("client", "client", c, "value", *c)
		if got := log.String(); !strings.Contains(got, "slow down") || strings.Contains(got, key) {
			t.Errorf("logged %s", got)
		}
	})
}

func TestWithMembers(t *testing.T) {
	for _, tt := range []struct{ extra, want string }{
		{"", `{"a":1}`},
		{"{}", `{"a":1}`},
		{" { } ", `{"a":1}`},
		{` {"b": [2]} `, `{"a":1,"b":[2]}`},
		{`{"b":`, "no JSON object"},
		{`[1]`, "no JSON object"},
	} {
		body := []byte(`{"a":1}`)
		got, err := call.WithMembers(body, []byte(tt.extra))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), tt.want) || string(body) != `{"a":1}` {
			t.Errorf("%q: got %s", tt.extra, got)
		}
	}
}

func TestFit(t *testing.T) {
	half := 0.5
	req := &model.Request{Model: "claude-opus-5-5", Temperature: &half, MaxTokens: 1 << 30}
	r, m, err := call.Fit(req, model.Model{})
	if err != nil || r.Temperature != nil || r.MaxTokens != m.MaxOutput || m.Window != 1_000_000 {
		t.Errorf("got %+v, %v", r, err)
	}
	if req.Temperature == nil || req.MaxTokens != 1<<30 {
		t.Error("the request was changed")
	}
	r, m, err = call.Fit(&model.Request{Temperature: &half}, model.Model{ID: "own", Window: 7})
	if err != nil || r.Model != "own" || r.Temperature == nil || m.Window != 7 {
		t.Errorf("got %+v, %+v, %v", r, m, err)
	}
	if _, _, err := call.Fit(&model.Request{}, model.Model{}); err == nil {
		t.Error("a request for no model was taken")
	}
}

// One client serves many callers at once.
func TestConcurrent(t *testing.T) {
	for _, w := range wires {
		s := httptest.NewServer(events(w.stream...))
		client := w.client(s.URL, nil, tuning{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				var shown strings.Builder
				reply, err := client.Generate(t.Context(), request(w.model),
					func(d model.Delta) { shown.WriteString(d.Text) })
				if err != nil || textOf(reply) != "Hello" || shown.String() != "Hello" {
					t.Errorf("%s: %q, %q, %v", w.name, textOf(reply), shown.String(), err)
				}
			})
		}
		wg.Wait()
		s.Close()
	}
}
