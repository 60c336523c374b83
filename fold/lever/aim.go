package lever

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
)

// Aim makes the levers after it go on until the view meets the budget's target, or comes as
// near as the parts that no lever folds allow. Without it they stop as soon as the view is
// no longer red. When somebody asked, it aims for half of the present view: whoever asks
// wants room, however much there is. But it does not halve again and again what is left of
// a long conversation: half of the target, or a quarter of all that was said, stays.
type Aim struct{}

// Name returns "aim".
func (Aim) Name() string { return "aim" }

// Pull sets the draft's goal.
func (Aim) Pull(_ context.Context, d *fold.Draft) error {
	d.Goal = min(max(d.Limits.Target, attainable(d, 2*fold.MaxPage)), d.Limits.Max)
	if d.Trigger == fold.TriggerAsked {
		whole := d.Facts().Tokens(0, len(d.Facts()))
		least := max(attainable(d, fold.MaxPage/2), min(d.Limits.Target/2, whole/4))
		d.Goal = min(d.Goal, max(d.Tokens()/2, least))
	}
	return nil
}

// attainable returns the smallest goal worth aiming at: the fixed parts and a third of what
// they leave free, but at most so many tokens of it. With less, a page has no room to say
// anything.
func attainable(d *fold.Draft, most int) int {
	fixed := d.Fixed()
	return fixed + min((d.Limits.Max-fixed)/3, most)
}
