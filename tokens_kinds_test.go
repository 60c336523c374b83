package pleat_test

import (
	"context"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// A provider that reports twice pleat's count: a plan has pleat's tokens throughout, the meter and the sizes
// of an event the provider's. (Plans once said "44,108 → 11,979 tokens, target 15,007, window 30,021".)
func TestKindsOfTokens(t *testing.T) {
	const window = 60_000
	var event pleat.Event
	s := busy(t, 40, &pleat.Options{
		Budget: fold.Budget{Window: window},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch {
				event = e
			}
		},
	})
	for range 20 { // so many that the line is what is reported
		must(t, s.Used(t.Context(), model.Usage{Input: 2 * s.Snapshot().Parts.Total()}))
	}
	before := s.Snapshot()
	p := compact(t, s)
	after := s.Snapshot()
	near := func(what string, got, want int) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	if p.Before != before.Parts.Total() || p.After != after.Parts.Total() {
		t.Errorf("plan %d → %d, but the views have %d and %d", p.Before, p.After, before.Parts.Total(), after.Parts.Total())
	}
	if p.Cache.Removed != p.Before-p.After || p.Cache.Rewritten > p.After {
		t.Errorf("plan %d → %d has the cache of another: %+v", p.Before, p.After, p.Cache)
	}
	near("the plan's window", p.Limits.Window, window/2)
	near("the plan's target", p.Limits.Target, int(after.Limits.Target)/2)
	near("the meter's view", int(after.Tokens), 2*p.After)
	if after.Limits.Window != window || *event.Snapshot != after || event.Before != before.Tokens {
		t.Errorf("the event has %d → %d in a window of %d, the meter %d → %d", event.Before, event.Snapshot.Tokens,
			event.Snapshot.Limits.Window, before.Tokens, after.Tokens)
	}
	rest := inside.Of(s).ProviderTokens(p.After - p.Cache.Rewritten)
	if event.Rewritten != after.Tokens-rest || event.Rewritten > tokens.Reported(2*p.Cache.Rewritten) {
		t.Errorf("the event has %d rewritten, the plan %d", event.Rewritten, p.Cache.Rewritten)
	}
}
