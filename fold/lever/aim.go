package lever

import "github.com/pleat-dev/pleat/fold"

// Aim makes the levers after it go on until the view meets the budget's target, or comes as
// near as the parts that no lever folds allow. Without it they stop as soon as the view is
// no longer red. When somebody asked, it aims for half of the present view: whoever asks
// wants room, however much there is. But it does not halve again and again what is left of
// a long conversation: half of the target, or a quarter of all that was said, stays.
type Aim struct{}

// Name returns "aim".
func (Aim) Name() string { return "aim" }

// Pull sets the draft's goal.
func (Aim) Pull(d *fold.Draft) {
	d.Goal = min(max(d.Limits.Target, d.Attainable(2*fold.MaxPage)), d.Limits.Max)
	if d.Trigger == fold.TriggerAsked {
		least := max(d.Attainable(fold.MaxPage/2), min(d.Limits.Target/2, d.Whole()/4))
		d.Goal = min(d.Goal, max(d.Tokens()/2, least))
	}
}
