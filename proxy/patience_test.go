package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// shaky fails in hidden rounds: the requests after an answer that calls one of our tools.
type shaky struct {
	to    http.Handler
	how   string
	fails int // how many times in a row
	left  atomic.Int64
	calls atomic.Int64 // answers with such a call
}

func (s *shaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.left.Load() > 0 {
		s.left.Add(-1)
		switch s.how {
		case "reset":
			panic(http.ErrAbortHandler)
		case "silent":
			_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the client has gone
			<-r.Context().Done()
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w,
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
		case "429":
			w.Header().Set("Retry-After", "0.001")
			http.Error(w, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`,
				http.StatusTooManyRequests)
		case "500":
			http.Error(w, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, 500)
		case "529":
			http.Error(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 529)
		}
		return
	}
	rec := httptest.NewRecorder()
	s.to.ServeHTTP(rec, r)
	if strings.Contains(rec.Body.String(), `"name":"unfold"`) {
		s.calls.Add(1)
		s.left.Store(int64(s.fails))
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// An error that passes is waited out in a hidden round, which no client can send again.
func TestHiddenRoundOutwaitsErrors(t *testing.T) {
	for _, how := range []string{"429", "500", "529", "reset", "event"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			if how == "event" && (on != protocol.Messages || !streams) {
				t.Skip("an error in a stream, on one wire")
			}
			script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
			up := &shaky{to: script, how: how, fails: 3}
			a := newAgent(on, start(t, up, Options{Window: window, Patience: 2 * time.Second}), "Do all the steps.")
			a.streams = streams
			a.run(t)
			wellBehaved(t, script.Log())
			if up.calls.Load() != 1 || up.left.Load() != 0 {
				t.Errorf("%s: %d recalls, %d errors left", how, up.calls.Load(), up.left.Load())
			}
		})
	}
}

// If it does not pass, the client gets an error that it can try again after, and its request
// goes on where it was: the recall is not asked for again.
func TestHiddenRoundIsResumed(t *testing.T) {
	for _, how := range []string{"429", "500", "529", "reset"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
			up := &shaky{to: script, how: how, fails: 100}
			reports := newReports()
			o := Options{Window: window, Patience: time.Millisecond, Report: reports.add}
			a := newAgent(on, start(t, up, o), "Do all the steps.")
			a.streams = streams
			failed := 0
			for {
				more, err := a.step()
				if err != nil {
					failed++
					up.left.Store(0)
					var e *model.APIError
					if errors.As(err, &e) && !e.Retryable() || !errors.As(err, &e) && (how != "reset" || !streams) ||
						failed > 1 {
						t.Fatalf("%s: the client got %v", how, err)
					}
					continue
				}
				if !more {
					break
				}
			}
			log := script.Log()
			wellBehaved(t, log)
			if failed != 1 || up.calls.Load() != 1 || log[len(log)-1].Step != 14 {
				t.Errorf("%s: %d failures, %d recalls, step %d", how, failed, up.calls.Load(), log[len(log)-1].Step)
			}
			for _, r := range reports.wait(len(a.bodies)) {
				if r.Forked {
					t.Errorf("%s: the conversation was forked", how)
				}
			}
		})
	}
}

// The time that an upstream is silent counts: otherwise each of many tries would take as long
// as it may be silent, while the client's stream hears pings.
func TestHiddenRoundOfSilentUpstream(t *testing.T) {
	t.Parallel()
	script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
	up := &shaky{to: script, how: "silent", fails: 100}
	o := Options{
		Window:   window,
		Timeout:  500 * time.Millisecond,
		Patience: 250 * time.Millisecond,
		Ping:     10 * time.Millisecond,
	}
	a := newAgent(protocol.Messages, start(t, up, o), "Do all the steps.")
	a.streams = true
	var err error
	for more := true; more && err == nil; {
		more, err = a.step()
	}
	if tries := 100 - up.left.Load(); err == nil || tries > 3 {
		t.Errorf("tried %d times: %v", tries, err)
	}
	up.left.Store(0)
	a.run(t)
	wellBehaved(t, script.Log())
}
