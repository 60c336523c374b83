package dash

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

// recent is something that is asked for anew after a moment, by one request at a time.
type recent[T any] struct {
	asking chan struct{} // holds a value while somebody asks

	mu    sync.Mutex // is not held while somebody asks
	value T
	at    time.Time // zero: there is no value yet
}

// fresh is how long a value counts as new.
const fresh = time.Second

func newRecent[T any]() *recent[T] { return &recent[T]{asking: make(chan struct{}, 1)} }

// get returns the value, which may be older than a moment while another request asks for it.
// It waits for another request only if there is no value yet.
func (r *recent[T]) get(ctx context.Context, now time.Time, ask func() (T, error)) (T, error) {
	value, at := r.last()
	if now.Sub(at) < fresh {
		return value, nil
	}
	select {
	case r.asking <- struct{}{}:
	default:
		if !at.IsZero() {
			return value, nil
		}
		select {
		case r.asking <- struct{}{}:
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
	defer func() { <-r.asking }()
	if value, at = r.last(); now.Sub(at) < fresh { // it came meanwhile
		return value, nil
	}
	value, err := ask()
	if err == nil {
		r.mu.Lock()
		r.value, r.at = value, now
		r.mu.Unlock()
	}
	return value, err
}

func (r *recent[T]) last() (T, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.at
}

// list returns all sessions, without looking into them.
func (h *Handler) list(ctx context.Context) ([]library.Info, error) {
	return h.listed.get(ctx, h.o.Now(), func() ([]library.Info, error) {
		p, err := h.o.Library.List(ctx, library.Filter{Plain: true})
		return p.Sessions, err
	})
}

// bill returns what requests cost.
func (h *Handler) bill(ctx context.Context) (bill.Bill, error) {
	return h.billed.get(ctx, h.o.Now(), func() (bill.Bill, error) {
		return (&bill.Book{Store: h.o.Store, Log: h.o.Logger, Now: h.o.Now}).Bill(ctx)
	})
}

// rowOf is a session's row of a bill; zero: it has none.
func rowOf(b bill.Bill, key store.SessionKey) (row bill.Row) {
	if i := slices.IndexFunc(b.Rows, func(r bill.Row) bool {
		return r.Tenant == key.Tenant && r.Session == key.Session
	}); i >= 0 {
		row = b.Rows[i]
	}
	return row
}
