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
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// inMemory is an upstream whose replies end together with their last bytes, or after them.
type inMemory struct {
	to       http.Handler
	together bool
}

func (u inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	u.to.ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp := rec.Result()
	if u.together {
		resp.Body = io.NopCloser(iotest.DataErrReader(resp.Body))
	}
	return resp, nil
}

// recalls are the stop reasons of answers that call tools.
var recalls = map[*protocol.Protocol]string{protocol.Messages: "tool_use", protocol.Chat: "tool_calls", protocol.Responses: "", protocol.Gemini: "STOP"}

// ledgering says something and calls ledger in answer n of a script; the rest is the script's.
// Before that answer, and instead of the ones after it, it does what it is told.
type ledgering struct {
	on      *protocol.Protocol
	streams bool
	text    string
	at, n   int
	to      http.Handler
	before  func()
	instead http.HandlerFunc
}

func (u *ledgering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.n++
	switch {
	case u.n == u.at:
		u.before()
		whole, stream := cutReply(u.on, u.n, u.text, recalls[u.on])
		if w.Header().Set("Content-Type", "application/json"); u.streams {
			w.Header().Set("Content-Type", "text/event-stream")
			whole = stream
		}
		_, _ = io.WriteString(w, whole)
	case u.n > u.at && u.instead != nil:
		u.instead(w, r)
	default:
		u.to.ServeHTTP(w, r)
	}
}

// inFront is an agent behind a transport or a handler, whose upstream is in memory.
func inFront(t *testing.T, u *ledgering, handler, together bool, o Options) *agent {
	t.Helper()
	o.Transport = inMemory{u, together}
	a := newAgent(u.on, "http://upstream.test", "Do all the steps.")
	a.streams = u.streams
	if handler {
		a.url = startAt(t, serveAt(a.url), o)
		a.client = &http.Client{Transport: http.DefaultTransport}
		return a
	}
	tr := transportOf(t, &o)
	t.Cleanup(func() { _ = tr.Close() })
	a.client = &http.Client{Transport: tr}
	return a
}

// eachFront runs a test for every wire, streaming and not, behind a transport and a handler, whose
// upstream's replies end together with their last bytes, or after them.
func eachFront(t *testing.T, f func(t *testing.T, on *protocol.Protocol, streams, handler, together bool)) {
	for _, on := range protocol.Protocols {
		for at := range 8 {
			streams, handler, together := at&1 == 0, at&2 == 0, at&4 == 0
			t.Run(fmt.Sprintf("%s/stream=%t,handler=%t,together=%t", on.Format, streams, handler, together),
				func(t *testing.T) { f(t, on, streams, handler, together) })
		}
	}
}

// pulled is a lever that does what it is told.
type pulled func(ctx context.Context) error

func (pulled) Name() string { return "mine" }

func (f pulled) Pull(ctx context.Context, _ *fold.Draft) error { return f(ctx) }

// Where a hidden round cannot be kept because the store fails or the client goes, no
// answer looks complete that is not: the client gets an error, which the report has too.
func TestHiddenRoundNotKept(t *testing.T) {
	for _, what := range []string{"store", "cancel"} {
		eachFront(t, func(t *testing.T, on *protocol.Protocol, streams, handler, together bool) {
			if handler && what == "cancel" { // nobody reads the answer
				return
			}
			if !roundNotKept(t, what, 5, on, streams, handler, together) {
				t.Errorf("%s: the round could be kept", what)
			}
		})
	}
}

// roundNotKept breaks something during answer n, and reports whether that had a consequence.
func roundNotKept(t *testing.T, what string, n int, on *protocol.Protocol, streams, handler, together bool) bool {
	st, fails := &broken{Store: store.NewMemory()}, false
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := policy.Default()
	p.AtRed = append(fold.Steps{pulled(func(ctx context.Context) error {
		if fails && what == "cancel" {
			cancel()
			<-ctx.Done()
		}
		return ctx.Err()
	})}, p.AtRed...)
	up := &ledgering{
		on: on, streams: streams, at: n, text: strings.Repeat("I look into it. ", 1_000),
		to:     upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 6_000}),
		before: func() { fails = true; st.writes.Store(what == "store") },
	}
	r, got := newReports(), &bytes.Buffer{}
	a := inFront(t, up, handler, together, Options{Window: 16_000, Policy: p, Store: st, Report: r.add})
	tr := copying{a.client.Transport, got}
	a.client = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
		got.Reset()
		return tr.RoundTrip(r.WithContext(ctx))
	})}
	var err error
	for more := true; more && err == nil && up.n < n; {
		more, err = a.step()
	}
	last := r.wait(len(a.bodies))[len(a.bodies)-1]
	if up.n != n {
		return false // there was no such answer, or the round went out
	}
	if err == nil || last.Err == nil {
		t.Fatalf("%s: the client got %v, the report %v", what, err, last.Err)
	}
	rec := on.Record()
	_, _ = rec.Write(got.Bytes())
	reply, ended := rec.Reply()
	var e *model.APIError
	switch refused := errors.As(err, &e); {
	case what == "cancel":
		if !errors.Is(err, context.Canceled) || !errors.Is(last.Err, context.Canceled) {
			t.Errorf("the client got %v, the report %v", err, last.Err)
		}
	case streams:
		if ended != nil || reply.Err == nil || !reply.Err.Retryable() || strings.Contains(err.Error(), "record answer") {
			t.Errorf("%s: the client got %v, and the event %v, %v", what, err, reply.Err, ended)
		}
	case !refused || e.Status != 503 || last.Status != 503:
		t.Errorf("%s: the client got %v, the report %d", what, err, last.Status)
	}
	return true
}

// The provider's refusal of a hidden round reaches the client, in a stream as an error of the
// wire's own form, whatever the provider said; the report has it.
func TestHiddenRoundRefused(t *testing.T) {
	for _, body := range []string{
		"", "forbidden", "<html>\n\n<p>Forbidden</p>\n\n</html>", `{"detail":"forbidden"}`, `{"error":"forbidden"}`,
		`[{"error":{"code":403,"message":"forbidden","status":"PERMISSION_DENIED"}}]`,
	} {
		eachFront(t, func(t *testing.T, on *protocol.Protocol, streams, handler, together bool) {
			up := &ledgering{on: on, streams: streams, at: 1, text: "The limit is 10", before: func() {}}
			up.instead = func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, body)
			}
			r := newReports()
			a := inFront(t, up, handler, together, Options{Store: store.NewMemory(), Report: r.add})
			reply, err := a.send()
			last := r.wait(1)[0]
			var e *model.APIError
			if !streams {
				if !errors.As(err, &e) || e.Status != 403 || last.Status != 403 {
					t.Errorf("%q: the client got %v, the report %d", body, err, last.Status)
				}
				return
			}
			e = reply.Err
			if err != nil || e == nil || e.Kind != model.ErrorPermission || e.Message == "" {
				t.Fatalf("%q: the client got %+v, %v", body, e, err)
			}
			if last.Status != 200 || !errors.As(last.Err, &e) || e.Status != 403 {
				t.Errorf("%q: the report has %d, %v", body, last.Status, last.Err)
			}
		})
	}
}

// What is no stream, or ends before its answer does, is not passed on behind the events of the
// answers before it.
func TestHiddenRoundNoStream(t *testing.T) {
	const page = "<html>\n\n<p>Log in.</p>\n\n</html>"
	for _, kind := range []string{"text/html", "text/event-stream"} {
		eachFront(t, func(t *testing.T, on *protocol.Protocol, streams, handler, together bool) {
			up := &ledgering{on: on, streams: streams, at: 1, text: "The limit is 10", before: func() {}}
			up.instead = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, page)
			}
			r, got := newReports(), &bytes.Buffer{}
			o := Options{Store: store.NewMemory(), Report: r.add, Patience: time.Millisecond}
			a := inFront(t, up, handler, together, o)
			a.client = &http.Client{Transport: copying{a.client.Transport, got}}
			reply, err := a.send()
			last := r.wait(1)[0]
			if err == nil && reply.Err == nil || last.Err == nil {
				t.Errorf("the client got %+v, %v, the report %v", reply, err, last.Err)
			}
			if streams && kind == "text/html" && strings.Contains(got.String(), "<p>") {
				t.Errorf("the client got %s", got)
			}
		})
	}
}

// copying keeps the bytes of replies.
type copying struct {
	http.RoundTripper
	to io.Writer
}

func (c copying) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, c.to), resp.Body}
	}
	return resp, err
}

// A stream whose last event lacks the empty line at its end is an answer like others: its calls of
// ours are answered, and nothing of them is seen.
func TestStreamWithoutLastLine(t *testing.T) {
	stops := map[*protocol.Protocol]string{
		protocol.Messages: "max_tokens", protocol.Chat: "length", protocol.Responses: "max_output_tokens", protocol.Gemini: "MAX_TOKENS",
	}
	for _, on := range protocol.Protocols {
		for rounds := range 3 {
			for _, end := range []string{"", "\n", "\r\n"} {
				n := 0
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n++
					stop, text := recalls[on], fmt.Sprintf("Look %d. ", n)
					if n > rounds {
						stop, text = stops[on], "The end."
					}
					w.Header().Set("Content-Type", "text/event-stream")
					_, stream := cutReply(on, n, text, stop)
					_, _ = io.WriteString(w, strings.TrimRight(stream, "\n")+end)
				})
				a := newAgent(on, start(t, up, Options{}), "Hello.")
				reply, err := a.send()
				var said strings.Builder
				for _, m := range reply.Messages {
					said.WriteString(m.Text())
				}
				more, bad := a.take(reply) // finds calls of ours
				if err != nil || bad != nil || more || reply.StopRaw != stops[on] ||
					!strings.HasSuffix(said.String(), "The end.") || strings.Count(said.String(), "Look") != rounds {
					t.Errorf("%s, %d rounds, %q: the client got %q, %s, %v, %v", on.Format, rounds, end, &said,
						reply.StopRaw, err, bad)
				}
			}
		}
	}
}

// An error that Gemini sends by itself, not as an event, is waited out in a hidden round like
// others, and the client does not see it.
func TestHiddenRoundBareError(t *testing.T) {
	script := upstreamtest.New(upstreamtest.Options{Calls: 1})
	up := &ledgering{on: protocol.Gemini, streams: true, at: 1, text: "I look.", before: func() {}}
	up.instead = func(w http.ResponseWriter, r *http.Request) {
		if up.n > 2 {
			script.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}`)
	}
	got := &bytes.Buffer{}
	a := inFront(t, up, false, true, Options{Store: store.NewMemory(), Patience: time.Second})
	a.client = &http.Client{Transport: copying{a.client.Transport, got}}
	if reply, err := a.send(); err != nil || reply.Err != nil || strings.Contains(got.String(), "Overloaded") {
		t.Errorf("the client got %v, %v: %s", reply.Err, err, got)
	}
}

// While the store fails, folds that are known stay in force, and so do the recall tools. A client
// never sees a call of them: it gets the store's error.
func TestRecallWithoutStore(t *testing.T) {
	const n = 23
	eachFront(t, func(t *testing.T, on *protocol.Protocol, streams, handler, together bool) {
		st := &broken{Store: store.NewMemory()}
		up := &ledgering{
			on: on, streams: streams, at: n, text: "I look into it.", before: func() {},
			to: upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 3_000}),
		}
		r, got := newReports(), &bytes.Buffer{}
		a := inFront(t, up, handler, together, Options{Window: 16_000, Store: st, Report: r.add})
		tr := copying{a.client.Transport, got}
		a.client = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			got.Reset()
			return tr.RoundTrip(r)
		})}
		for up.n < n-1 {
			st.writes.Store(up.n >= n-3) // what is written behind an answer fails, and the next request knows
			a.turn(t)
		}
		_, err := a.step()
		last := r.wait(len(a.bodies))[len(a.bodies)-1]
		if up.n != n || last.BytesOut >= last.BytesIn {
			t.Fatalf("request %d was not folded: %+v", up.n, last)
		}
		if err == nil || !errors.Is(last.Err, errDisk) || bytes.Contains(got.Bytes(), []byte("ledger")) {
			t.Errorf("the client got %v, the report %v\n%s", err, last.Err, got)
		}
		if last.Session.Session == "" || !last.Folded {
			t.Errorf("the report says nothing of the folds: %+v", last)
		}
	})
}

// An observer that panics in a hidden round does no more harm than elsewhere: the conversation goes
// on, and what runs beside the caller becomes an error.
func TestObserverPanicsInHiddenRound(t *testing.T) {
	const n = 4
	eachFront(t, func(t *testing.T, on *protocol.Protocol, streams, handler, together bool) {
		for _, refused := range []bool{false, true} {
			panics := false
			up := &ledgering{
				on: on, streams: streams, at: n, text: "I look into it.", before: func() { panics = !refused },
				to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 2_000}),
			}
			if refused {
				up.instead = func(w http.ResponseWriter, r *http.Request) {
					if up.n > n+1 {
						up.to.ServeHTTP(w, r)
						return
					}
					panics = true
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write(on.TooLong(9_000, 8_000))
				}
			}
			a := inFront(t, up, handler, together, Options{
				Window: 100_000, Store: store.NewMemory(),
				Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
					if panics && e.Kind != pleat.EventRecall {
						panics = false
						panic("a bug")
					}
				},
			})
			more, err := true, error(nil)
			for failed := 0; more && failed < 3; {
				more = false
				if thrown := fault.Caught(func() error { more, err = a.step(); return nil }); err != nil || thrown != nil {
					failed, more = failed+1, true
				}
			}
			if err != nil || panics {
				t.Errorf("refused %t: %v; it panicked: %t", refused, err, !panics)
			}
		}
	})
}

// What a hook or a lever of the program breaks is not said to be the store's fault.
func TestHookFails(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 6_000})
	a := newAgent(protocol.Messages, start(t, up, Options{
		Window: 16_000,
		Session: func(_ store.SessionKey, o *pleat.Options) {
			o.Hooks.BeforeEpoch = func(context.Context, *fold.Plan) (pleat.EpochDecision, error) {
				return pleat.EpochDecision{}, errors.New("no")
			}
		},
	}), "Do all the steps.")
	var err error
	for more := true; more && err == nil; {
		more, err = a.step()
	}
	if err == nil || !strings.Contains(err.Error(), "a hook of this program failed") {
		t.Errorf("the client got %v", err)
	}
}

// hanging is a store whose writes, once it hangs, end only with their context, or when it is freed.
type hanging struct {
	*store.Memory
	hangs *atomic.Bool
	freed chan struct{}
}

func (h hanging) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if !h.hangs.Load() {
		return h.Memory.Append(ctx, key, last, entries...)
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-h.freed:
		return h.Memory.Append(ctx, key, last, entries...)
	}
}

// The end of a stream waits for a store that hangs, but not much longer than the client does.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		freed := make(chan struct{})
		up := upstreamtest.New(upstreamtest.Options{Calls: 1, Bytes: 100})
		tr := transportOf(t, &Options{
			Store: hanging{store.NewMemory(), &hangs, freed},
			Transport: inMemory{to: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hangs.Store(true)
				up.ServeHTTP(w, r)
			})},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := newAgent(protocol.Messages, "http://upstream.test", "Do all the steps.")
		a.streams = true
		a.client = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return tr.RoundTrip(r.WithContext(ctx))
		})}
		began := time.Now() // by the bubble's clock
		_, _ = a.step()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the client waited %v", took)
		}
		close(freed)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}
