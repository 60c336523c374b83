package dash

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
)

// How often a stream looks for changes, and how often it tells the client that it is alive.
const (
	liveEvery = time.Second
	livePing  = 15 * time.Second
)

// live tells a page when what it shows has changed: the session that the request names, or
// the list of all. It sends no content; the page asks for itself again.
func (h *Handler) live(w http.ResponseWriter, r *http.Request) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		h.problem(w, http.StatusServiceUnavailable, "Too many pages are kept up to date.")
		return
	}
	ctx, id := r.Context(), r.URL.Query().Get("s")
	was, err := h.version(ctx, id)
	if err != nil {
		h.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(s string) bool {
		_, err := fmt.Fprint(w, s)
		return err == nil && out.Flush() == nil
	}
	if !send("retry: 3000\n\n") {
		return
	}
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-h.o.Done:
			return
		case <-tick.C:
		}
		is, err := h.version(ctx, id)
		switch {
		case err == nil && is != was:
			if !send("event: change\ndata: 1\n\n") {
				return
			}
			was, last = is, time.Now()
		case time.Since(last) > livePing:
			if !send(": alive\n\n") {
				return
			}
			last = time.Now()
		}
	}
}

// version is a string that changes when a session does, or with no ID the list of all.
func (h *Handler) version(ctx context.Context, id string) (string, error) {
	list, err := h.list(ctx)
	if err != nil {
		return "", err
	}
	if id == "" {
		if len(list) == 0 {
			return "", nil
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		counting, counted := h.sums == nil, 0
		if h.sums != nil {
			counting, counted = h.sums.Counting, h.sums.Counted
		}
		return fmt.Sprint(len(list), list[0].ID, list[0].Modified, list[0].Bytes, list[0].Entries, counting, counted), nil
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
