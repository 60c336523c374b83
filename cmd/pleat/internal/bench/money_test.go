package bench

import (
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// A session that ends early never costs much more than without folds, wherever it ends, and
// one that goes on costs not much more than the best schedule known in advance, and not less.
func TestMoneyOfDefault(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	arms, err := ArmsByName("default")
	must(t, err)
	folded := false
	prices := DefaultPrices()[:2]
	cost, best := make([]float64, len(prices)), make([]float64, len(prices)) // of the long sessions
	for _, s := range SynthSessions(32_000) {
		limit := maxShort
		if s.Name == "synthetic/review-32k" {
			limit = 1.031 // it is folded at requests 6, 10 and 13, of which the second does not pay before the 16th
		}
		w := &worker{s: &s, tokens: tokens.NewTokenizer(model.Model{}, nil)}
		for i, p := range prices {
			base, err := w.replay(t.Context(), Arm{Name: "none", Open: openRule(none)}, p.Model, nil)
			must(t, err)
			first := make(map[int]shown)
			steps, err := w.replay(t.Context(), noted(w, arms[0], first), p.Model, nil)
			must(t, err)
			for n := 1; n <= min(len(steps), longSession); n++ {
				folded = folded || steps[n-1].changed
				if got := p.cost(steps[:n], false) / p.cost(base[:n], false); got > limit {
					t.Errorf("%s, %s: ending after %d requests it costs %.3f of no compaction", s.Name, p.Name, n, got)
				}
			}
			spent, bound := p.cost(steps, false), lookAhead(&s, first, p.Model.Prices[0], boundKeep,
				boundLeast, boundStub)
			if spent < 0.99*bound {
				t.Errorf("%s, %s: %.4f is less than the bound %.4f", s.Name, p.Name, spent, bound)
			}
			if len(steps) >= longSession {
				cost[i] += spent
				best[i] += bound
			}
		}
	}
	for i, p := range prices {
		if got := cost[i] / best[i]; best[i] == 0 || got > 1.05 {
			t.Errorf("%s: %.3f of the best schedule known in advance", p.Name, got)
		}
	}
	if !folded {
		t.Error("nothing was folded in any young session: this shows nothing")
	}
}
