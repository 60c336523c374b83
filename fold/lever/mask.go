package lever

import (
	"cmp"
	"context"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Mask replaces old results by a stub, the oldest first, until the goal is met. The calls
// stay.
type Mask struct {
	Keep int `json:"keep,omitempty"` // newest results that stay; 0: none
	Min  int `json:"min,omitempty"`  // results of fewer characters stay; 0: all are masked
	// Exempt are tools whose results stay until their turns are folded, by name or by class ("@read"); nil: none.
	Exempt []string `json:"exempt,omitempty"`
	Stub   string   `json:"stub,omitempty"`   // {tool}, {call_id}, {tokens}, {handle}; empty: pleat's own
	All    bool     `json:"all,omitempty"`    // masks all old results at once, whatever the goal
	Unseen bool     `json:"unseen,omitempty"` // also masks results that no model has seen yet
}

// Name returns "mask".
func (Mask) Name() string { return "mask" }

// Check refuses negative numbers and a blank stub.
func (m Mask) Check() error {
	return cmp.Or(fold.CheckNumbers("keep and min", m.Keep, m.Min), knownTools(m.Exempt), notBlank("stub", m.Stub))
}

// Pull masks results.
func (m Mask) Pull(ctx context.Context, d *fold.Draft) error {
	why := "old result"
	if d.Trigger == fold.TriggerPays {
		why = "old result; folding it saves money"
	}
	if m.Unseen {
		defer d.Allow(fold.AnyUnseen)()
	}
	for _, ref := range old(d, m.Keep) {
		if !m.All && d.Enough() && d.Trigger != fold.TriggerPays {
			break
		}
		if ref.Message < d.From || int(d.Facts().Block(ref).Chars) < m.Min || !d.Maskable(ref, m.Exempt) {
			continue
		}
		stub, err := d.Stub(ctx, ref, m.Stub, "")
		if err != nil {
			return err
		}
		d.FoldBlock(ref, m, why, stub)
	}
	return nil
}

// Keeps returns how many of the newest results stay.
func (m Mask) Keeps() int { return m.Keep }

// Saves returns how many tokens masking a result takes out of the view.
func (m Mask) Saves(r fold.Result) int {
	if int(r.Chars) < m.Min || !r.Maskable(m.Exempt) {
		return 0
	}
	return max(r.Shown()-fold.StubTokens, 0)
}

// old lists the results but the newest keep, oldest first.
func old(d *fold.Draft, keep int) []transcript.BlockRef {
	refs := d.Results()
	return refs[:max(len(refs)-keep, 0)]
}
