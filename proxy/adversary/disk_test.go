package adversary

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/pleat-dev/pleat/store"
)

// disk is a store that can be made to take nothing.
type disk struct {
	*store.Memory
	full atomic.Bool
}

func (d *disk) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if d.full.Load() {
		return 0, store.ErrFull
	}
	return d.Memory.Append(ctx, key, last, entries...)
}

// serve lets a proxy answer, and reports whether the answer broke off.
func (w *world) serve(r *http.Request) (rec *httptest.ResponseRecorder, broke bool) {
	rec = httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			w.Cut++
			broke = true
		}
	}()
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{}))
	w.handlers[w.IntN(len(w.handlers))].ServeHTTP(rec, r)
	return rec, rec.Code == http.StatusOK && saysError(rec.Body.Bytes())
}

// saysError reports whether the last that an answer says is an error.
func saysError(body []byte) bool {
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	last := parse(bytes.TrimPrefix(lines[len(lines)-1], []byte("data: ")))
	return len(last.obj("error")) > 0 || last.str("type") == "response.failed"
}
