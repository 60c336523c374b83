package digest

import (
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// digestGuard keeps a session from asking a model that does not help, and from asking too
// often. It is safe for concurrent use.
type Guard struct {
	O   *Options
	Now func() time.Time

	mu     sync.Mutex
	calls  []time.Time // within the last o.Per
	failed int         // digests in a row
	until  time.Time   // while the breaker is open
}

// closed reports whether a digest may be asked for. When the breaker has been open for its
// pause, one may be: if that fails too, it opens again.
func (g *Guard) Closed() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.Now(); now.Before(g.until) {
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
	g.calls = append(g.calls, g.Now())
	return nil
}

func (g *Guard) room() bool {
	if g.O.Calls < 0 {
		return true
	}
	since := g.Now().Add(-g.O.Per)
	for len(g.calls) > 0 && !g.calls[0].After(since) {
		g.calls = g.calls[1:]
	}
	return len(g.calls) < g.O.Calls
}

// ended notes how a digest ended.
func (g *Guard) Ended(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok {
		g.failed = 0
		return
	}
	if g.failed++; g.O.Breaker > 0 && g.failed >= g.O.Breaker {
		g.until = g.Now().Add(g.O.Pause)
	}
}
