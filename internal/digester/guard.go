package digester

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// The calls are counted within callsPer; an open breaker closes after breakerPause.
const callsPer, breakerPause = 10 * time.Minute, 5 * time.Minute

// Fill sets what is zero in options to its default: breaker is the policy's, session the
// session's model.
func Fill(o *digest.Options, breaker int, session model.Model) {
	o.Model = Asked(*o, session)
	o.Deadline = cmp.Or(max(o.Deadline, 0), time.Minute)
	o.Calls = cmp.Or(o.Calls, 24)
	o.Breaker = cmp.Or(o.Breaker, breaker, 3)
}

// Asked returns the model that writes the digests of a session with the given model.
func Asked(o digest.Options, session model.Model) model.Model {
	if named(o.Model) {
		return o.Model
	}
	if client, ok := o.Generator.(interface{ DefaultModel() model.Model }); ok {
		if m := client.DefaultModel(); named(m) && m.ID != session.ID {
			return m
		}
	}
	return session
}

func named(m model.Model) bool { return m.ID != "" || m.Window != 0 }

// Guard keeps a session from asking a model that does not help, and from asking too
// often. It is safe for concurrent use.
type Guard struct {
	options *digest.Options
	now     func() time.Time

	mu     sync.Mutex
	calls  []time.Time // within the last callsPer
	failed int         // digests in a row
	until  time.Time   // while the breaker is open
}

// NewGuard makes a guard that holds calls to the bounds in o, which must be filled.
func NewGuard(o *digest.Options, now func() time.Time) *Guard { return &Guard{options: o, now: now} }

// Closed reports whether a digest may be asked for, and if not, why. When the breaker has
// been open for its pause, one may be: if that fails too, it opens again.
func (g *Guard) Closed() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := g.until.Sub(g.now()); left > 0 && left <= breakerPause { // more: the clock was set back
		return false, text.Plural(g.failed, "digest") + " failed in a row; the model rests"
	}
	if !g.left() {
		return false, summarizer.ErrSpent.Error()
	}
	return true, ""
}

// Allow counts a call. It returns [summarizer.ErrSpent] if there were too many.
func (g *Guard) Allow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.left() {
		return summarizer.ErrSpent
	}
	g.calls = append(g.calls, g.now())
	return nil
}

// left reports whether one more call is allowed.
func (g *Guard) left() bool {
	if g.options.Calls < 0 {
		return true
	}
	now := g.now()
	g.calls = slices.DeleteFunc(g.calls, func(at time.Time) bool {
		ago := now.Sub(at)
		return ago >= callsPer || ago < 0 // the clock was set back
	})
	return len(g.calls) < g.options.Calls
}

// Ended notes whether a digest was got.
func (g *Guard) Ended(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok {
		g.failed = 0
		return
	}
	if g.failed++; g.options.Breaker > 0 && g.failed >= g.options.Breaker {
		g.until = g.now().Add(breakerPause)
	}
}
