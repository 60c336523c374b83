package fold

import (
	"slices"
)

// undone is the record that takes the newest epoch back: what was in force before it,
// and what was spilled at birth since then.
func (s *Folding) Undone() (EpochData, bool) {
	at := s.inEffect()
	if len(at) == 0 {
		return EpochData{}, false
	}
	d := EpochData{Epoch: s.History[at[len(at)-1]].Epoch, Messages: s.Transcript.Len(), Undo: true, Trigger: TriggerAsked}
	if len(at) > 1 {
		prev := s.History[at[len(at)-2]]
		d.InForce, d.Bare = slices.Clone(prev.InForce), prev.Bare
	}
	for _, f := range s.Folds {
		if f.Lever == LeverSpill && !slices.Contains(d.InForce, f.ID) {
			d.InForce = append(d.InForce, f.ID)
		}
	}
	slices.Sort(d.InForce)
	return d, true
}

// inEffect lists the epochs that were not undone, as places in history.
func (s *Folding) inEffect() []int {
	var at []int
	for i, d := range s.History {
		if !d.Undo {
			at = append(at, i)
		} else if len(at) > 0 {
			at = at[:len(at)-1]
		}
	}
	return at
}
