package digest

import (
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// Guard keeps a session from asking a model that does not help, and from asking too
// often. It is safe for concurrent use.
type Guard struct {
	options *Options
	now     func() time.Time

	mu     sync.Mutex
	calls  []time.Time // within the last options.Per
	failed int         // digests in a row
	until  time.Time   // while the breaker is open
}

// NewGuard makes a guard that holds calls to the bounds in o, which must be filled.
func NewGuard(o *Options, now func() time.Time) *Guard { return &Guard{options: o, now: now} }

// closed reports whether a digest may be asked for. When the breaker has been open for its
// pause, one may be: if that fails too, it opens again.
func (g *Guard) Closed() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Before(g.until) {
		return false, text.Plural(g.failed, "digest") + " failed in a row; the model rests"
	}
	if !g.room() {
		return false, ErrSpent.Error()
	}
	return true, ""
}

// allow notes a call, unless there were too many.
func (g *Guard) Allow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.room() {
		return ErrSpent
	}
	g.calls = append(g.calls, g.now())
	return nil
}

func (g *Guard) room() bool {
	if g.options.Calls < 0 {
		return true
	}
	since := g.now().Add(-g.options.Per)
	for len(g.calls) > 0 && !g.calls[0].After(since) {
		g.calls = g.calls[1:]
	}
	return len(g.calls) < g.options.Calls
}

// ended notes how a digest ended.
func (g *Guard) Ended(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok {
		g.failed = 0
		return
	}
	if g.failed++; g.options.Breaker > 0 && g.failed >= g.options.Breaker {
		g.until = g.now().Add(g.options.Pause)
	}
}
