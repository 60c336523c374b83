package lever

import "github.com/pleat-dev/pleat/fold"

// Refill takes masks back where a page has since made room for the results, the newest
// first, as far as each fits. It costs nothing: the epoch rewrites the view
// anyway.
type Refill struct{}

// Name returns "refill".
func (Refill) Name() string { return "refill" }

// Pull takes folds back.
func (Refill) Pull(d *fold.Draft) {
	if !d.HasSpan() {
		return // nothing made room
	}
	refs := d.Results()
	for i := len(refs) - 1; i >= 0 && d.Tokens() < d.Goal; i-- {
		f := d.Folded(refs[i])
		if f == nil || f.Lever != (Mask{}).Name() && (f.Lever != (Squeeze{}).Name() || f.After > fold.StubTokens) {
			continue
		}
		d.ShowAgain(refs[i]) // if it fits; a smaller one may
	}
}
