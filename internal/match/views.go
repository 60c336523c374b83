package match

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// meetViews compares a history with what is shown now, and with what was shown in earlier epochs: a
// fork must have the epoch, or get it. It reports whether the history goes on from one of them.
func (c *comparison) meetViews() (best Meeting, ok bool, err error) {
	epochs := append([]epoch.Data{{}}, c.st.History...) // before the first, only results that were too large are folded
	for i, d := range slices.Backward(epochs) {
		in := c.st.Layout.In
		if i < len(epochs)-1 {
			if in, err = c.st.ShownIn(d); err != nil {
				return Meeting{}, false, err
			}
		}
		own := c.turnsIn(c.st.ViewOf(in))
		if len(own) == 0 {
			continue
		}
		if m, ok := c.follows(own); ok {
			return m, true, nil
		}
		m := c.apart(own)
		if m.Theirs > best.Theirs && m.Own < d.Messages {
			if m.Epoch, err = c.epochBefore(m, d, in); err != nil {
				return Meeting{}, false, err
			}
		}
		if m.Theirs > best.Theirs && (m.Own >= d.Messages || m.Epoch != nil) {
			best = m
		}
	}
	return best, false, nil
}

// epochBefore returns an epoch as a fork gets it that ends before it opened: with the folds of what
// the fork has. It is nil if these do not show what the history has of the epoch's view.
func (c *comparison) epochBefore(m Meeting, d epoch.Data, in fold.Set) (*epoch.Data, error) {
	d.Folds, d.Messages, d.Bare = nil, m.Own, min(in.Bare, m.Own)
	d.InForce = slices.DeleteFunc(in.IDs(), func(id int) bool {
		f := c.st.Folds[id-1]
		return f.Start >= m.Own || f.End > m.Own
	})
	for _, id := range d.InForce {
		d.Folds = append(d.Folds, c.st.Folds[id-1])
	}
	kept, err := c.st.SetOf(d.InForce, d.Bare)
	if err != nil {
		return nil, err
	}
	view := c.st.ViewOf(kept)
	if i := slices.IndexFunc(view, func(vm transcript.ViewMessage) bool { return vm.Source >= m.Own }); i >= 0 {
		view = view[:i]
	}
	own, theirs := c.turnsIn(view), (&History{msgs: c.h.msgs[:m.Theirs]}).turns(c.h.Heads)
	if len(own) != len(theirs) || c.alike(own, theirs, false) < len(own) {
		return nil, nil
	}
	return &d, nil
}
