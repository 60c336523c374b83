package epoch

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Data is what is stored of an epoch: a complete answer to "which folds are in force": later epochs do not depend
// on earlier ones, so undoing one means storing an older answer again.
type Data struct {
	Epoch        int            `json:"epoch"`
	Messages     int            `json:"messages"` // length of the transcript when it was made
	Trigger      fold.Trigger   `json:"trigger"`
	Undo         bool           `json:"undo,omitempty"`
	Focus        string         `json:"focus,omitempty"`
	Folds        []*fold.Fold   `json:"folds,omitempty"` // new ones
	InForce      []int          `json:"in_force"`        // numbers of all folds in force from now on
	Bare         int            `json:"bare,omitempty"`
	DropThinking bool           `json:"drop_thinking,omitempty"`
	Window       int            `json:"window,omitempty"` // of the budget; 0: not known
	Before       int            `json:"tokens_before"`
	After        int            `json:"tokens_after"`
	Cache        fold.CacheCost `json:"cache"`
	Warning      string         `json:"warning,omitempty"`
	Kept         []string       `json:"kept,omitempty"` // files kept because they were read again after each epoch
}

// Use puts folds made at birth in force. They belong to the newest message.
func (s *State) Use(folds []*fold.Fold) error {
	if err := s.check(folds); err != nil {
		return err
	}
	for _, f := range folds {
		s.keep(f)
		s.Layout.In.Replace(f)
		s.Born.Replace(f)
	}
	if len(folds) > 0 {
		s.rebuild()
	}
	return nil
}

// check refuses new folds that do not belong to the conversation. They come from a store,
// and whoever wrote it may have written anything.
func (s *State) check(folds []*fold.Fold) error {
	for i, f := range folds {
		id, n := len(s.Folds)+i+1, s.Len()
		switch {
		case f == nil, f.ID != id, f.Start < 0, f.Start > f.End, f.End > n,
			f.Block >= 0 && (f.Start >= n || f.Block >= len(s.Facts()[f.Start].Blocks)),
			min(f.Before, f.After, f.Bytes, f.Lines) < 0:
			return fmt.Errorf("fold %d is not one of this conversation of %d messages: %w", id, n, store.ErrCorrupt)
		}
	}
	return nil
}

// keep remembers a fold by its number, and its stretch by its handle.
func (s *State) keep(f *fold.Fold) {
	s.Folds = append(s.Folds, f)
	s.folded += perFold + len(f.Stub)
	if f.Whole() {
		s.Index.Add(f.Hash, transcript.Place{Start: f.Start, End: f.End, Block: -1})
	}
}

// Enter opens an epoch: from now on exactly the folds that it lists are in force.
func (s *State) Enter(d Data) error {
	if err := s.check(d.Folds); err != nil {
		return err
	}
	n := s.Len()
	if min(d.Messages, d.Bare, d.Epoch) < 0 || max(d.Messages, d.Bare) > n {
		return fmt.Errorf("epoch %d is not one of this conversation of %d messages: %w", d.Epoch, n, store.ErrCorrupt)
	}
	listed := make([]bool, len(s.Folds)+len(d.Folds)+1)
	for _, id := range d.InForce {
		if id < 1 || id >= len(listed) || listed[id] {
			return fmt.Errorf("fold %d of epoch %d is missing, or listed twice: %w", id, d.Epoch, store.ErrCorrupt)
		}
		listed[id] = true
	}
	for _, f := range d.Folds {
		s.keep(f)
	}
	in, err := s.SetOf(d.InForce, d.Bare)
	if err != nil {
		return fmt.Errorf("epoch %d: %w: %w", d.Epoch, err, store.ErrCorrupt)
	}
	s.Layout.In = in
	s.Epochs = max(s.Epochs, d.Epoch)
	s.History = append(s.History, d)
	s.Epoch = 0
	s.enact(d)
	if n := len(s.inEffect); n > 0 {
		s.Epoch = s.History[s.inEffect[n-1]].Epoch
	}
	if d.Undo {
		s.told = nil // the fold that showed it is not wanted
	}
	if d.Cache.PaysAfter > 0 { // else the cache was cold
		s.spent.rewritten += d.Cache.Rewritten
	}
	s.rebuild()
	if d.DropThinking {
		s.unbind(d.Messages)
	}
	return nil
}

// SetOf returns the set of folds with the given numbers.
func (s *State) SetOf(ids []int, bare int) (fold.Set, error) {
	folds := make([]*fold.Fold, len(ids))
	for i, id := range ids {
		folds[i] = s.Folds[id-1]
	}
	return fold.NewSet(folds, bare)
}

// ShownIn returns the folds that were in force in an epoch, with those made at birth since.
func (s *State) ShownIn(d Data) (fold.Set, error) {
	in, err := s.SetOf(d.InForce, d.Bare)
	for f := range s.Born.In(d.Messages, s.Len()) {
		in.Replace(f)
	}
	return in, err
}

// Undone returns the record that takes the newest epoch back: it lists what was in force
// before it, and every fold made at birth. It reports false if there is no epoch.
func (s *State) Undone() (Data, bool) {
	at := s.inEffect
	if len(at) == 0 {
		return Data{}, false
	}
	d := Data{Epoch: s.History[at[len(at)-1]].Epoch, Messages: s.Len(), Undo: true, Trigger: fold.TriggerAsked}
	if len(at) > 1 {
		prev := s.History[at[len(at)-2]]
		d.InForce, d.Bare = slices.Clone(prev.InForce), prev.Bare
	}
	for _, id := range s.Born.IDs() {
		if !slices.Contains(d.InForce, id) {
			d.InForce = append(d.InForce, id)
		}
	}
	slices.Sort(d.InForce)
	return d, true
}

// enact adds the newest record to the epochs in effect, or takes one off. Plans may still have
// what they were given before, so nothing of it is overwritten.
func (s *State) enact(d Data) {
	switch n := len(s.inEffect); {
	case !d.Undo:
		s.inEffect, s.lengths = append(s.inEffect, len(s.History)-1), append(s.lengths, d.Messages)
	case n > 0:
		s.inEffect, s.lengths = s.inEffect[:n-1], slices.Clone(s.lengths[:n-1])
	}
}

// Refused reports whether the provider refused the transcript as it is now before.
func (s *State) Refused() bool {
	return s.Settled() && s.History[len(s.History)-1].Trigger == fold.TriggerRefused
}

// Settled reports whether an epoch was opened for the transcript as it is now. Then
// planning again would give up more although nothing new came, and the same request would
// not get the same bytes twice.
func (s *State) Settled() bool {
	n := len(s.History)
	return n > 0 && s.History[n-1].Messages == s.Len()
}
