package pleat

import (
	"sync"
	"time"
)

// digestGuard keeps a session from asking a model that does not help, and from asking too
// often. It is safe for concurrent use.
type digestGuard struct {
	o   *DigestOptions
	now func() time.Time

	mu     sync.Mutex
	calls  []time.Time // within the last o.Per
	failed int         // digests in a row
	until  time.Time   // while the breaker is open
}

// closed reports whether a digest may be asked for. When the breaker has been open for its
// pause, one may be: if that fails too, it opens again.
func (g *digestGuard) closed() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Before(g.until) {
		return false, plural(g.failed, "digest") + " failed in a row; the model rests"
	}
	if !g.room() {
		return false, errDigestSpent.Error()
	}
	return true, ""
}

// allow notes a call, unless there were too many.
func (g *digestGuard) allow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.room() {
		return errDigestSpent
	}
	g.calls = append(g.calls, g.now())
	return nil
}

func (g *digestGuard) room() bool {
	if g.o.Calls < 0 {
		return true
	}
	since := g.now().Add(-g.o.Per)
	for len(g.calls) > 0 && !g.calls[0].After(since) {
		g.calls = g.calls[1:]
	}
	return len(g.calls) < g.o.Calls
}

// ended notes how a digest ended.
func (g *digestGuard) ended(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok {
		g.failed = 0
		return
	}
	if g.failed++; g.o.Breaker > 0 && g.failed >= g.o.Breaker {
		g.until = g.now().Add(g.o.Pause)
	}
}
