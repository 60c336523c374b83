package dash

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

// liveEvery is how often a page that follows a session asks whether it went on.
const liveEvery = time.Second

// live answers with a text that changes when what a page shows does: the session that the request
// names, or the list of all. It has no content; the page asks for itself again.
func (h *Handler) live(w http.ResponseWriter, r *http.Request) {
	version, err := h.version(r.Context(), r.URL.Query().Get("s"))
	if err != nil {
		h.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, version)
}

// version is a string that changes when a session does, or with no ID the list of all.
func (h *Handler) version(ctx context.Context, id string) (string, error) {
	list, err := h.list(ctx)
	if err != nil {
		return "", err
	}
	if id == "" {
		var newest library.Info
		if len(list) > 0 {
			newest = list[0]
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		s := cmp.Or(h.sums, &sums{Counting: true})
		return fmt.Sprint(len(list), newest.ID, newest.Modified, newest.Bytes, newest.Entries, s.Counting, s.Counted), nil
	}
	for _, i := range list {
		if i.ID == id {
			// What may still be written is left out of a session until its file rests.
			return fmt.Sprint(i.Modified, i.Bytes, i.Entries,
				i.File != "" && h.o.Now().Sub(i.Modified) > library.Quiet+liveEvery), nil
		}
	}
	return "", errNoSession
}

// recent is something that is asked for anew after a moment. Requests wait for the one that asks.
type recent[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time
}

// fresh is how long a value counts as new.
const fresh = time.Second

func (r *recent[T]) get(now func() time.Time, ask func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now().Sub(r.at) < fresh {
		return r.value, nil
	}
	value, err := ask()
	if err == nil {
		r.value, r.at = value, now()
	}
	return value, err
}

// list returns all sessions, without looking into them.
func (h *Handler) list(ctx context.Context) ([]library.Info, error) {
	return h.listed.get(h.o.Now, func() ([]library.Info, error) {
		p, err := h.o.Library.List(ctx, library.Filter{Plain: true})
		return p.Sessions, err
	})
}

// bill returns what requests cost.
func (h *Handler) bill(ctx context.Context) (bill.Bill, error) {
	return h.billed.get(h.o.Now, func() (bill.Bill, error) {
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
