package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// gated is a store whose writes wait while it is shut.
type gated struct {
	store.Store
	shut atomic.Bool
	gate chan struct{} // what waits goes on when it is closed
	at   chan struct{} // told of every write that waits
}

func (g *gated) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if g.shut.Load() {
		g.at <- struct{}{}
		<-g.gate
	}
	return g.Store.Append(ctx, key, last, entries...)
}

// The status of a proxy never waits for a model or a store.
func TestStatusDoesNotWait(t *testing.T) {
	for _, by := range []string{"store", "digest"} {
		t.Run(by, func(t *testing.T) {
			gate := make(chan struct{})
			st := &gated{Store: store.NewMemory(), gate: gate, at: make(chan struct{}, 1000)}
			at := st.at
			o := Options{Store: st, Window: window}
			if by == "digest" {
				o.Session = func(_ store.SessionKey, s *pleat.Options) {
					s.Digest.NoBackground = true
					s.Digest.Generator = model.GeneratorFunc(func(context.Context, *model.Request, func(model.Delta)) (model.Reply,
						error,
					) {
						at <- struct{}{}
						<-gate
						return model.Reply{}, errors.New("no digest today")
					})
				}
			}
			to := serve(t, upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000}))
			o.Anthropic = to
			h := newHandler(t, &o)
			a := newAgent(protocol.Messages, serve(t, h).String(), "Do all the steps.")
			a.turn(t)
			if by == "store" {
				st.shut.Store(true)
			}
			over := make(chan error, 1)
			go func() {
				for more, err := true, error(nil); more; {
					if more, err = a.step(); err != nil {
						over <- err
						return
					}
				}
				over <- nil
			}()
			select {
			case <-at: // a request waits now
			case err := <-over:
				t.Fatalf("no request waited: %v", err)
			}
			got := make(chan []SessionStatus, 1)
			go func() { got <- h.Sessions() }()
			select {
			case list := <-got:
				if len(list) != 1 || list[0].Messages == 0 || list[0].Model != "small-model" ||
					list[0].Snapshot.Tokens == 0 ||
					list[0].Last.IsZero() {
					t.Errorf("the status is %+v", list)
				}
			case <-time.After(5 * time.Second):
				t.Error("the status waits")
			}
			close(gate)
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

// A conversation that was let go is found again in the store, although one in memory
// begins with the same words.
func TestFoundAgainInStore(t *testing.T) {
	r := newReports()
	a := newAgent(protocol.Messages,
		start(t, upstreamtest.New(upstreamtest.Options{Calls: 4}), Options{Sessions: 1, Report: r.add}),
		"Do all the steps.")
	a.turns(t, 3)
	first := r.wait(3)[2].Session
	b := *a
	b.history = append(a.history[:1:1], a.history[1:3]...)
	b.say("Be quick.")
	b.turn(t)
	if x := r.wait(4)[3]; x.Session == first || !x.Forked {
		t.Fatalf("no fork: %s", x.Session)
	}
	a.turn(t)
	if x := r.wait(5)[4]; x.Session != first || x.Forked {
		t.Errorf("the first conversation is in session %s now, was %s; forked %t", x.Session, first, x.Forked)
	}
}

// An event without an end is not kept for ever: the client is told why its answer ends.
func TestEventTooLarge(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		if !streams {
			t.Skip("there are no events")
		}
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: ")
			line := strings.Repeat("x", 1<<10)
			for range 1_000 {
				io.WriteString(w, line)
			}
		})
		r := newReports()
		a := newAgent(on, start(t, up, Options{MaxEvent: 100 << 10, Report: r.add}), "Hello.")
		resp, err := http.Post(a.url+a.path(), "application/json", strings.NewReader(string(a.body())))
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), "larger than 102400 bytes") || strings.Contains(string(body), "xxx") ||
			err == nil {
			t.Errorf("the client got %.200q, %v", body, err)
		}
		if x := r.wait(1)[0]; !errors.Is(x.Err, sse.ErrTooLarge) {
			t.Errorf("the report says %v", x.Err)
		}
	})
}

// Bodies that are read take memory, which is given back.
func TestMemoryOfRequests(t *testing.T) {
	tr := transportOf(t, &Options{Store: store.NewMemory(), Memory: 1 << 20})
	send := func(size int) int {
		r := httptest.NewRequest("POST", "http://up.invalid/v1/messages", bytes.NewReader(make([]byte, size)))
		r.Header.Set("Content-Encoding", "unknown")
		resp, err := tr.RoundTrip(r)
		must(t, err)
		return resp.StatusCode
	}
	for _, tt := range []struct{ size, want int }{{1000, 415}, {2 << 20, 503}, {500 << 10, 415}} {
		if got := send(tt.size); got != tt.want {
			t.Errorf("%d bytes: status %d, want %d", tt.size, got, tt.want)
		}
	}
	if n, _ := tr.rw.Memory(); n != 0 {
		t.Errorf("%d bytes are taken when nothing is under way", n)
	}
}

// TestOptionsRefused: what no session could be opened with, and what would refuse or stop every
// request, is refused at once.
func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"Window": {Window: -1}, "Memory": {Memory: -1}, "MaxBody": {MaxBody: -1}, "MaxEvent": {MaxEvent: -1},
		"Sessions": {Sessions: -1}, "Rounds": {Rounds: -1}, "Timeout": {Timeout: -1}, "Ping": {Ping: -1},
		"Patience": {Patience: -1}, "a window of 20 tokens": {Window: 20},
		"no steps": {Policy: fold.Policy{Name: "mine"}},
	} {
		o.Store = store.NewMemory()
		if _, err := NewTransport(&o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In all tests of this package the memory of a request that is over has nothing in it that
// anybody could take for content.
func init() {
	httpbody.LeastRoom = 1 << 10
	httpbody.Garble = func(b []byte) {
		for i := range b {
			b[i] = '!'
		}
	}
}

// slow is a transport that answers first and reads the request when its answer was read.
type slow struct{ bodies chan string }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	done := func() error {
		body, _ := io.ReadAll(r.Body)
		s.bodies <- string(body)
		return r.Body.Close()
	}
	resp := respond(r, http.StatusOK,
		[]byte(`{"type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}]}`))
	resp.Body = &onClose{resp.Body, done}
	return resp, nil
}

type onClose struct {
	io.ReadCloser
	then func() error
}

func (c *onClose) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}

// Whatever memory requests get, the upstream gets their bytes, even if it reads late.
func TestRoomsOfRequests(t *testing.T) {
	up := slow{make(chan string, 1)}
	tr := transportOf(t, &Options{Store: store.NewMemory(), Transport: up})
	defer tr.Close()
	text := ""
	for i := range 20 {
		text += fmt.Sprintf(`{"role":"user","content":"message %d %s"},`, i, strings.Repeat("x", 300))
		body := `{"model":"m","messages":[` + strings.TrimSuffix(text, ",") + `]}`
		r, _ := http.NewRequest("POST", "http://up.invalid/v1/messages", strings.NewReader(body))
		resp, err := tr.RoundTrip(r)
		must(t, err)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := <-up.bodies; got != body {
			t.Fatalf("request %d became %.300q", i, got)
		}
	}
}
