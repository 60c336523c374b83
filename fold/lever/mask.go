package lever

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Mask replaces old results by a stub, the oldest first, until the goal is met. The calls
// stay.
type Mask struct {
	Keep   int      `json:"keep,omitempty"`   // newest results that stay
	Min    int      `json:"min,omitempty"`    // results of fewer characters stay
	Exempt []string `json:"exempt,omitempty"` // tools whose results stay
	Stub   string   `json:"stub,omitempty"`   // {tool}, {call_id}, {tokens}, {handle}; empty: pleat's own
	All    bool     `json:"all,omitempty"`    // masks all old results at once, whatever the goal
	Unseen bool     `json:"unseen,omitempty"` // also masks results that no model has seen yet
	// ByProvider leaves old results to the provider's own clearing. The caller sets the
	// request's field for it; see anthropic.Clearing.
	ByProvider bool `json:"by_provider,omitempty"`
}

// Name returns "mask".
func (Mask) Name() string { return "mask" }

// Check refuses negative numbers.
func (m Mask) Check() error {
	return notNegative("keep and min", m.Keep, m.Min)
}

// Pull masks results.
func (m Mask) Pull(d *fold.Draft) {
	if m.ByProvider || !m.All && d.Enough() && d.Trigger != fold.TriggerPays {
		return
	}
	why := "old result"
	if d.Trigger == fold.TriggerPays {
		why = "old result; folding it saves money"
	}
	defer d.AllowUnseen(m.Unseen)()
	for _, ref := range old(d, m.Keep) {
		if !m.All && d.Enough() && d.Trigger != fold.TriggerPays {
			return
		}
		if ref.Message < d.From || int(d.Facts(ref).Chars) < m.Min || !d.Maskable(ref, m.Exempt) {
			continue
		}
		d.FoldBlock(ref, m, why, d.Stub(ref, m.Stub, ""))
	}
}

// Keeps returns how many of the newest results stay.
func (m Mask) Keeps() int { return m.Keep }

// Saves returns how many tokens masking a result takes out of the view.
func (m Mask) Saves(s *fold.Folding, ref transcript.BlockRef) int {
	return s.MaskSaves(ref, m.Min, m.Exempt)
}

// old lists the results but the newest keep, oldest first.
func old(d *fold.Draft, keep int) []transcript.BlockRef {
	refs := d.Results()
	return refs[:max(len(refs)-keep, 0)]
}
