package fold

import "github.com/pleat-dev/pleat/model"

// CacheCost is what opening an epoch does to the provider's prompt cache.
type CacheCost struct {
	Removed   int     `json:"removed"`    // tokens that each later request no longer carries
	Rewritten int     `json:"rewritten"`  // tokens after the earliest change: written to the cache again
	PaysAfter float64 `json:"pays_after"` // further requests after which it has paid for itself
	Gain      float64 `json:"gain"`       // expected, in input tokens at full price; negative: a loss
}

// WeighCache weighs removing tokens from a view of which rewritten tokens follow the earliest
// change, with so many requests ahead. With a warm cache those tokens are paid for at the
// writing price once instead of the reading price; with a cold one they are written anyway.
func WeighCache(r model.Rates, removed, rewritten int, ahead float64, cold bool) CacheCost {
	c := CacheCost{Removed: removed, Rewritten: rewritten}
	save := r.Read * float64(removed) // for each further request
	pay := (r.Write - r.Read) * float64(rewritten)
	if cold {
		pay = -r.Write * float64(removed) // what is gone need not be written
	}
	c.Gain = save*ahead - pay
	if save > 0 {
		c.PaysAfter = max(pay/save, 0)
	}
	return c
}
