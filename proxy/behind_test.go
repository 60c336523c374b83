package proxy

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// hooked is a store whose writes of what no stub depends on go through a hook.
type hooked struct {
	store.Store
	hook  func() error
	folds atomic.Int64 // entries written that others depend on
}

func (h *hooked) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if !slices.ContainsFunc(entries, func(e store.Entry) bool { return !behind.Waits(e) }) {
		if err := h.hook(); err != nil {
			return 0, err
		}
	}
	n, err := h.Store.Append(ctx, key, last, entries...)
	if err == nil && slices.ContainsFunc(entries,
		func(e store.Entry) bool { return e.Kind == store.EntryEpoch || e.Kind == store.EntryFold }) {
		h.folds.Add(1)
	}
	return n, err
}

// While nothing is folded, a request does not wait for the store: here the store waits for
// the request.
func TestStoreBehind(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		left := make(chan struct{}, 100)
		up := upstreamtest.New(upstreamtest.Options{Calls: 6, Bytes: 1000})
		to := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			left <- struct{}{}
			left <- struct{}{} // what came may be written before the usage
			up.ServeHTTP(w, r)
		})
		st := &hooked{Store: store.NewMemory(), hook: func() error { <-left; return nil }}
		a := newAgent(on, start(t, to, Options{Store: st}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		wellBehaved(t, up.Log())
	})
}

// A replica that gets the next request before the other has written the last one goes on
// without it, and so does the other when it finds out.
func TestReplicaIsFaster(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		shared := store.NewMemory()
		var slow atomic.Bool
		release := make(chan struct{})
		st := &hooked{Store: shared, hook: func() error {
			if slow.Load() {
				<-release
			}
			return nil
		}}
		up := upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 1000})
		at := serve(t, up)
		h, one := handlerAt(t, at, Options{Store: st})
		two := startAt(t, at, Options{Store: shared})
		a := newAgent(on, one, "Do all the steps.")
		a.streams = streams
		for i, more := 0, true; more; i++ {
			turn := i % 8
			switch a.url = one; turn {
			case 5: // until then the end of an answer waits for the store
				slow.Store(true)
			case 6: // the fourth answer in a row is trusted
				a.url = two
			}
			more = a.turn(t)
			if turn == 6 {
				slow.Store(false)
				close(release)
				written(t, h.rw)
				release = make(chan struct{})
			}
		}
		log := up.Log()
		wellBehaved(t, log)
		if last := log[len(log)-1]; last.Step != 20 {
			t.Errorf("the last request has step %d", last.Step)
		}
	})
}

// A write that fails behind a request costs nothing: the client sends everything again, and
// nothing is folded that is not stored.
func TestStoreBehindFails(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		writes := 0
		st := &hooked{Store: store.NewMemory()}
		st.hook = func() error {
			if writes++; writes%3 == 0 {
				return store.ErrFull
			}
			return nil
		}
		up := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, Limit: window})
		to := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before := st.folds.Load()
			up.ServeHTTP(w, r)
			if log := up.Log(); log[len(log)-1].Folded && before == 0 {
				t.Error("a stub left before its fold was stored")
			}
		})
		a := newAgent(on, start(t, to, Options{Store: st, Window: window}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		wellBehaved(t, up.Log())
		if log := up.Log(); !log[len(log)-1].Folded {
			t.Error("nothing was folded")
		}
	})
}

// counted counts the bodies that are read back.
type counted struct {
	store.Store
	bodies, entries atomic.Int64
}

func (c *counted) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	c.bodies.Add(1)
	return c.Store.Body(ctx, key, hash)
}

// A long conversation that is seen for the first time is folded without being read back from
// the store, and does not stay in memory.
func TestFirstSight(t *testing.T) {
	st := &counted{Store: store.NewMemory()}
	up := upstreamtest.New(upstreamtest.Options{})
	var folded bool
	o := Options{Store: st, Window: 600_000, Report: func(r Exchange) { folded = r.Folded }, Anthropic: serve(t, up)}
	h := newHandler(t, &o)
	var body strings.Builder
	body.WriteString(`{"model":"small-model","max_tokens":100,"tools":[{"name":"bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Do all the steps."}`)
	for i := range 400 {
		fmt.Fprintf(&body,
			`,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"bash","input":{"command":"run %d"}}]}`, i, i)
		fmt.Fprintf(&body, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i,
			strings.Repeat(fmt.Sprintf("line %d of the log, ", i), 500))
	}
	body.WriteString(`]}`)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(body.String()))
	r.Host = "127.0.0.1"
	h.ServeHTTP(w, r)
	must(t, h.Close())
	if n := st.bodies.Load(); w.Code != http.StatusOK || !folded || n != 0 {
		t.Errorf("status %d, folded %t, %d messages read back: %.300s", w.Code, folded, n, w.Body)
	}
}

func (c *counted) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range c.Store.Scan(ctx, key, from, kinds...) {
			c.entries.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (c *counted) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	c.entries.Add(int64(len(entries)))
	return c.Store.Append(ctx, key, last, entries...)
}

// The store's work in a turn does not grow with the number of turns and epochs before it.
func TestTurnsCostWhatIsNew(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one client at a time, and run without -short by go test work")
	}
	const turns = 300
	st := &counted{Store: store.NewMemory()}
	up := upstreamtest.New(upstreamtest.Options{Calls: turns, Bytes: 1500})
	a := newAgent(protocol.Messages, start(t, up, Options{Store: st, Window: 8000}), "Do all the steps.")
	var work [turns / 100]int64
	for i := range turns {
		before := st.entries.Load() + st.bodies.Load()
		a.turn(t)
		work[i/100] += st.entries.Load() + st.bodies.Load() - before
	}
	if first, last := work[0], work[len(work)-1]; last*10 > first*13 {
		t.Errorf("entries and bodies read and written in each hundred turns: %v", work)
	}
}
