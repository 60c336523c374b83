package lever

import (
	"context"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Refill shows results again where a page has since made room for them, the newest first, as
// far as each fits; see [fold.Fold].Final. It costs nothing: the epoch rewrites the view
// anyway.
type Refill struct{}

// Name returns "refill".
func (Refill) Name() string { return "refill" }

// Pull takes folds back, shows parts of results that do not fit whole, and lets the page say
// more.
func (Refill) Pull(ctx context.Context, d *fold.Draft) error {
	if !slices.ContainsFunc(d.Added(), (*fold.Fold).Whole) {
		return nil // nothing made room
	}
	refs := d.Results()
	slices.Reverse(refs)
	var cut []transcript.BlockRef // those that do not fit whole
	for _, ref := range refs {
		f := d.Folds().Block(ref)
		if f != nil && !f.Final && !d.Show(ref, "") { // a smaller one may fit
			cut = append(cut, ref)
		}
	}
	if err := showParts(ctx, d, cut); err != nil || tight(d) {
		return err
	}
	return d.Pages().Fill(ctx)
}

// tight reports whether the view has no room left that is worth filling.
func tight(d *fold.Draft) bool { return d.Goal-d.Tokens() < d.Goal/20 }

// showParts shows as much of results as there is room for. Those of the current work share it;
// of older ones the newest comes first.
func showParts(ctx context.Context, d *fold.Draft, refs []transcript.BlockRef) error {
	newest := d.Marks().Newest
	for i, ref := range refs {
		if tight(d) {
			return nil
		}
		f := d.Folds().Block(ref)
		left := d.Goal - d.Tokens()
		if ref.Message >= newest {
			left /= len(refs) - i
		}
		txt, err := blockText(ctx, d, ref)
		if err != nil {
			return err
		}
		if short := shortText(txt, f.After+left, d.Count, foldedMark(d, f.Handle)); short != "" {
			d.Show(ref, short)
		}
	}
	return nil
}
