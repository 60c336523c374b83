// Package digest gets a digest of old turns from a model. [Write] asks for it, checks what
// comes back against the conversation, strikes what the conversation does not bear out, and
// asks again if too little is left. A [Guard] bounds how often a model is asked.
package digest

import (
	"cmp"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// Options say who writes digests and within which bounds. With the zero value code writes
// them, and no model is called.
//
// Code always writes the rest of the page: what the user said, rules, pins, tasks and the
// ledger are never left to a model. What a model writes is checked against the conversation
// before it is used; docs/digest.md says how.
type Options struct {
	Generator model.Generator // asks the model; nil: code writes digests
	Model     model.Model     // what the generator talks to; zero: the session's model
	// Rules are the user's own rules for digests, such as "preserve every numerical value
	// verbatim". They are added to the prompt.
	Rules string

	Tokens int // most tokens of a digest; 0: what the view has room for, about half of it
	// NoFork: the request holds the conversation as text, with long results cut. Otherwise it
	// continues the live one, so that the provider's prompt cache is warm, where that is cheaper
	// and fits.
	NoFork bool

	// Deadline bounds the time of one digest with all its tries while the caller waits;
	// 0: a minute. One in the background may take four times as long.
	Deadline time.Duration
	// NoBackground: digests are written only when they are needed, while the caller waits.
	// Otherwise they are prepared from yellow on, so that nobody waits at red.
	NoBackground bool

	Calls int // most calls of the model within ten minutes; 0: 24; negative: no limit
	// Breaker is the number of failed digests in a row after which code writes them for five
	// minutes; 0: the policy's, else 3; negative: never.
	Breaker int
}

// The calls are counted within callsPer; an open breaker closes after breakerPause.
const callsPer, breakerPause = 10 * time.Minute, 5 * time.Minute

// Fill sets what is zero to its default: breaker is the policy's, session the session's
// model.
func (o *Options) Fill(breaker int, session model.Model) {
	if o.Model.ID == "" && o.Model.Window == 0 {
		o.Model = session
	}
	o.Deadline = cmp.Or(max(o.Deadline, 0), time.Minute)
	o.Calls = cmp.Or(o.Calls, 24)
	o.Breaker = cmp.Or(o.Breaker, breaker, 3)
}

// Guard keeps a session from asking a model that does not help, and from asking too
// often. It is safe for concurrent use.
type Guard struct {
	options *Options
	now     func() time.Time

	mu     sync.Mutex
	calls  []time.Time // within the last callsPer
	failed int         // digests in a row
	until  time.Time   // while the breaker is open
}

// NewGuard makes a guard that holds calls to the bounds in o, which must be filled.
func NewGuard(o *Options, now func() time.Time) *Guard { return &Guard{options: o, now: now} }

// Closed reports whether a digest may be asked for, and if not, why. When the breaker has
// been open for its pause, one may be: if that fails too, it opens again.
func (g *Guard) Closed() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now().Before(g.until) {
		return false, text.Plural(g.failed, "digest") + " failed in a row; the model rests"
	}
	if !g.left() {
		return false, ErrSpent.Error()
	}
	return true, ""
}

// Allow counts a call. It returns [ErrSpent] if there were too many.
func (g *Guard) Allow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.left() {
		return ErrSpent
	}
	g.calls = append(g.calls, g.now())
	return nil
}

// left reports whether one more call is allowed.
func (g *Guard) left() bool {
	if g.options.Calls < 0 {
		return true
	}
	since := g.now().Add(-callsPer)
	for len(g.calls) > 0 && !g.calls[0].After(since) {
		g.calls = g.calls[1:]
	}
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
