package match

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// meetViews compares a history with what the session shows, and with what it showed in earlier
// epochs: then a fork must have the epoch, or get it.
func (c *comparison) meetViews() (best Meeting, err error) {
	epochs := append([]epoch.Data{{}}, c.st.History...) // before the first, only results that were too large are folded
	for i, d := range slices.Backward(epochs) {
		in, view := c.st.Layout.In, []transcript.ViewMessage(nil)
		if i == len(epochs)-1 {
			view = c.st.View()
		} else if in, err = c.st.ShownIn(d); err == nil {
			view = c.viewOf(in)
		}
		if err != nil {
			return Meeting{}, err
		}
		own := c.turnsIn(view)
		if len(own) == 0 {
			continue
		}
		m, ok := c.goesOn(own, true)
		if ok {
			return m, nil
		}
		m = c.apart(own)
		if m.History > best.History && m.Said < d.Messages {
			if m.Epoch, err = c.epochBefore(m, d, in); err != nil {
				return Meeting{}, err
			}
		}
		if m.History > best.History && (m.Said >= d.Messages || m.Epoch != nil) {
			best = m
		}
		if m, ok := c.gapInView(view); ok {
			return m, nil
		}
	}
	return best, nil
}

// epochBefore returns an epoch as a fork gets it that ends before it opened: with the folds of what
// the fork has. It is nil if these do not show what the history has of the epoch's view.
func (c *comparison) epochBefore(m Meeting, d epoch.Data, in fold.Set) (*epoch.Data, error) {
	d.Folds, d.Messages, d.Bare = nil, m.Said, min(in.Bare, m.Said)
	d.InForce = slices.DeleteFunc(in.IDs(), func(id int) bool {
		f := c.st.Folds[id-1]
		return f.Start >= m.Said || f.End > m.Said
	})
	for _, id := range d.InForce {
		d.Folds = append(d.Folds, c.st.Folds[id-1])
	}
	kept, err := c.st.SetOf(d.InForce, d.Bare)
	if err != nil {
		return nil, err
	}
	view := c.viewOf(kept)
	if i := slices.IndexFunc(view, func(vm transcript.ViewMessage) bool { return vm.Source >= m.Said }); i >= 0 {
		view = view[:i]
	}
	own, theirs := c.turnsIn(view), addTurns(nil, c.h.Heads, m.History, c.h.role)
	if len(own) != len(theirs) || c.alike(own, theirs, true) < len(own) {
		return nil, nil
	}
	return &d, nil
}

// viewOf is the view with these folds in force.
func (c *comparison) viewOf(in fold.Set) []transcript.ViewMessage {
	then := c.st.Layout
	then.In = in
	return then.Render(&fold.Shown{})
}
