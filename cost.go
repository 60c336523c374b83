package pleat

// CacheCost is what opening an epoch does to the provider's prompt cache.
type CacheCost struct {
	Removed   int     `json:"removed"`    // tokens that each later request no longer carries
	Rewritten int     `json:"rewritten"`  // tokens after the earliest change: written to the cache again
	PaysAfter float64 `json:"pays_after"` // further requests after which it has paid for itself
	Gain      float64 `json:"gain"`       // expected, in input tokens at full price; negative: a loss
	USD       float64 `json:"usd,omitempty"`
}

// Rates are the prices of prompt tokens relative to the plain input price.
type Rates struct {
	Write float64 `json:"write"` // 1.25 where cache writes cost extra
	Read  float64 `json:"read"`  // 0.1 and less
}

// DefaultRates hold where the model's prices are not known.
var DefaultRates = Rates{Write: 1.25, Read: 0.1}

// expected is how many more requests a session is expected to make: three for each that
// it made beyond the first fourteen, and at most 50. The bound came close to the best
// schedule known in advance on long sessions. Most sessions are short: with fewer requests
// an epoch that nothing forces would be paid for by a future that the session does not
// have. Measured by the bench: with 0 to 10 instead of 14 single short sessions cost up to
// 1.05 of what they cost without folds, and the long ones hardly less.
func (s *state) expected() float64 {
	return float64(min(max(requestsAhead*(s.answers-youngRequests), 0), 50))
}

const (
	requestsAhead = 3
	youngRequests = 14
)

// cost weighs removing tokens from a view of which rewritten tokens follow the earliest
// change. With a warm cache those are paid for at the writing price once instead of the
// reading price; with a cold one they are written anyway.
func (r Rates) cost(removed, rewritten int, ahead float64, cold bool) CacheCost {
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

// walkBack bounds how far back a turn looks for results worth folding: the cost of a turn
// must not grow with the history, and further back the rewriting only gets dearer.
const walkBack = 1024

// payingFrom finds the place from which folding old results pays best: walking from the
// newest message to the oldest, every starting point has a gain, and the best one wins if
// it is positive. It returns the first message to fold results in.
func (s *state) payingFrom(p *Policy, r Rates, cold bool) (int, CacheCost) {
	best, at := CacheCost{}, -1
	keep, suffix, removed := p.Mask.Keep, 0, 0
	for i := s.t.Len() - 1; i >= max(s.t.Len()-walkBack, 0); i-- {
		if s.inUse.covered(i) {
			break // what is folded as a stretch has no results left to fold
		}
		f := &s.facts[i]
		found := false
		for b := len(f.blocks) - 1; b >= 0; b-- {
			if f.blocks[b].kind != KindToolResult {
				continue
			}
			if keep > 0 {
				keep--
				continue
			}
			if ref := (BlockRef{i, b}); s.maskable(ref, p, s.inUse) && int(f.blocks[b].chars) >= p.Mask.Min {
				tokens := int(f.blocks[b].tokens)
				if old := s.inUse.blocks[ref]; old != nil {
					tokens = old.After
				}
				removed += max(tokens-stubTokens, 0)
				found = true
			}
		}
		parts, _ := s.partsShown(i, s.inUse)
		suffix += parts.Total()
		if !found {
			continue
		}
		if c := r.cost(removed, max(suffix-removed, 0), s.expected(), cold); c.Gain > best.Gain {
			best, at = c, i
		}
	}
	return at, best
}
