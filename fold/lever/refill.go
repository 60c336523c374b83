package lever

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Refill takes masks back where a page has since made room for the results, the newest
// first, as far as each fits. It costs nothing: the epoch rewrites the view
// anyway.
type Refill struct{}

// Name returns "refill".
func (Refill) Name() string { return "refill" }

// Pull takes folds back, shows parts of results that do not fit whole, and lets the page say
// more.
func (Refill) Pull(d *fold.Draft) {
	if !d.HasSpan() {
		return // nothing made room
	}
	refs := d.Results()
	slices.Reverse(refs)
	var cut []transcript.BlockRef // of those that no other lever could leave whole
	for _, ref := range refs {
		f := d.Folded(ref)
		if f == nil || f.Lever != (Mask{}).Name() && f.Lever != (Squeeze{}).Name() {
			continue
		}
		if d.ShowAgain(ref); d.Folded(ref) == f { // a smaller one may fit
			cut = append(cut, ref)
		}
	}
	for i, ref := range cut {
		left := d.Goal - d.Tokens()
		if left < d.Goal/20 {
			return
		}
		f := d.Folded(ref)
		if f.Lever == (Squeeze{}).Name() {
			left /= len(cut) - i
		}
		txt := transcript.BlockText(d.Block(ref))
		d.ShowMore(ref, shortText(txt, f.After+left, d.Count, foldedMark(d, f.Handle)))
	}
	d.FillPage()
}
