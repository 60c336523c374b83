package dash

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
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
		counting, counted := h.sums == nil, 0
		if h.sums != nil {
			counting, counted = h.sums.Counting, h.sums.Counted
		}
		return fmt.Sprint(len(list), newest.ID, newest.Modified, newest.Bytes, newest.Entries, counting, counted), nil
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
