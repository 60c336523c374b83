package digester

import (
	"testing"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/difftest"
)

// TestGuardClock: a clock that is set back does not keep the model from being asked.
func TestGuardClock(t *testing.T) {
	for name, o := range map[string]*digest.Options{"breaker": {Breaker: 1, Calls: -1}, "calls": {Calls: 1}} {
		now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		g := NewGuard(o, func() time.Time { return now })
		difftest.Must(t, g.Allow())
		g.Ended(false)
		for _, jump := range []time.Duration{time.Second, -24 * time.Hour} {
			now = now.Add(jump)
			if ok, why := g.Closed(); ok != (jump < 0) {
				t.Errorf("%s, after %v: %v, %s", name, jump, ok, why)
			}
		}
	}
}
