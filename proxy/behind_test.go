package proxy

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstream"
	"github.com/pleat-dev/pleat/store"
)

// hooked is a store whose writes of what no stub depends on go through a hook.
type hooked struct {
	store.Store
	hook  func() error
	folds atomic.Int64 // entries written that others depend on
}

func (h *hooked) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if !slices.ContainsFunc(entries, func(e store.Entry) bool { return !waits(e) }) {
		if err := h.hook(); err != nil {
			return 0, err
		}
	}
	n, err := h.Store.Append(ctx, key, last, entries...)
	if err == nil && slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Kind == store.EntryEpoch || e.Kind == store.EntryFold }) {
		h.folds.Add(1)
	}
	return n, err
}

// While nothing is folded, a request does not wait for the store: here the store waits for
// the request.
func TestStoreBehind(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol, streams bool) {
		left := make(chan struct{}, 100)
		up := upstream.New(upstream.Options{Calls: 6, Bytes: 1000})
		to := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			left <- struct{}{}
			left <- struct{}{} // for the messages, and for the usage
			up.ServeHTTP(w, r)
		})
		st := &hooked{Store: store.NewMemory(), hook: func() error { <-left; return nil }}
		a := newAgent(on, start(t, to, Options{Store: st}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		wellBehaved(t, up.Log())
	})
}

// A write that fails behind a request costs nothing: the client sends everything again, and
// nothing is folded that is not stored.
func TestStoreBehindFails(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol, streams bool) {
		writes := 0
		st := &hooked{Store: store.NewMemory()}
		st.hook = func() error {
			if writes++; writes%3 == 0 {
				return store.ErrFull
			}
			return nil
		}
		up := upstream.New(upstream.Options{Calls: 24, Bytes: 12_000, Limit: window})
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
