package proxy

import (
	"slices"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
)

// SessionStatus describes a session that a proxy has in memory, as of the last time that
// a request finished a step with it. Reading it never waits for a model or a store.
type SessionStatus struct {
	Key      store.SessionKey
	Model    string
	Recall   RecallMode
	Last     time.Time // when its last request came
	Messages int       // of the transcript
	Folds    int       // in force or not
	Snapshot fold.Snapshot
	Spent    float64 // USD, by the price table
}

// Sessions lists the sessions in memory, the one used last first.
func (h *Handler) Sessions() []SessionStatus { return h.rw.status() }

// Sessions lists the sessions in memory, the one used last first.
func (t *Transport) Sessions() []SessionStatus { return t.rw.status() }

// Drain lets conversations end: known ones continue as before, new ones pass unchanged
// and are not kept. A proxy that is stopped after that leaves no client with a history
// that no longer fits. It cannot be undone.
func (h *Handler) Drain() { h.rw.draining.Store(true) }

// Draining reports whether [Handler.Drain] was called.
func (h *Handler) Draining() bool { return h.rw.draining.Load() }

func (rw *rewriter) status() []SessionStatus {
	rw.mu.Lock()
	out := make([]SessionStatus, 0, rw.recent.Len())
	for e := rw.recent.Front(); e != nil; e = e.Next() {
		out = append(out, *e.Value.(*conversation).status.Load())
	}
	rw.mu.Unlock()
	slices.SortStableFunc(out, func(a, b SessionStatus) int { return b.Last.Compare(a.Last) })
	return out
}
