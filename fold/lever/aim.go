package lever

import "github.com/pleat-dev/pleat/fold"

// Aim makes the levers after it go on until the view meets the budget's target, or comes as
// near as the parts that no lever folds allow. Without it they stop as soon as the view is
// no longer red. When somebody asked, it aims for half of the present view: whoever asks
// wants room, however much there is.
type Aim struct{}

// Name returns "aim".
func (Aim) Name() string { return "aim" }

// Pull sets the draft's goal.
func (Aim) Pull(d *fold.Draft) {
	d.Goal = max(d.Limits.Target, d.Attainable(2*fold.MaxPage))
	if d.Trigger == fold.TriggerAsked {
		d.Goal = min(d.Goal, max(d.Tokens()/2, d.Attainable(fold.MaxPage/2)))
	}
}
