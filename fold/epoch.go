package fold

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// EpochData is a complete answer to "which folds are in force": later epochs do not depend
// on earlier ones, so undoing one means storing an older answer again.
type EpochData struct {
	Epoch        int       `json:"epoch"`
	Messages     int       `json:"messages"` // length of the transcript when it was made
	Trigger      Trigger   `json:"trigger"`
	Undo         bool      `json:"undo,omitempty"`
	Focus        string    `json:"focus,omitempty"`
	Folds        []*Fold   `json:"folds,omitempty"` // new ones
	InForce      []int     `json:"in_force"`        // numbers of all folds in force from now on
	Bare         int       `json:"bare,omitempty"`
	DropThinking bool      `json:"drop_thinking,omitempty"`
	Before       int       `json:"tokens_before"`
	After        int       `json:"tokens_after"`
	Cache        CacheCost `json:"cache"`
	Warning      string    `json:"warning,omitempty"`
	Kept         []string  `json:"kept,omitempty"` // files kept because they were read again after each epoch
}

// Use puts folds made at birth in force. They belong to the newest message.
func (s *Folding) Use(folds []*Fold) error {
	if err := s.check(folds); err != nil {
		return err
	}
	for _, f := range folds {
		s.keep(f)
		s.InUse.blocks[f.ref()] = f
		s.born[f.ref()] = f
	}
	s.rebuildLast()
	return nil
}

// check refuses new folds that do not belong to the conversation. They come from a store,
// and whoever wrote it may have written anything.
func (s *Folding) check(folds []*Fold) error {
	for i, f := range folds {
		id, n := len(s.Folds)+i+1, len(s.Facts)
		switch {
		case f == nil, f.ID != id, f.Start < 0, f.Start > f.End, f.End > n,
			f.Block >= 0 && (f.Start >= n || f.Block >= len(s.Facts[f.Start].Blocks)),
			min(f.Before, f.After, f.Bytes, f.Lines) < 0:
			return fmt.Errorf("fold %d is not one of this conversation of %d messages: %w", id, n, store.ErrCorrupt)
		}
	}
	return nil
}

// keep remembers a fold by its number, and its stretch by its handle.
func (s *Folding) keep(f *Fold) {
	s.Folds = append(s.Folds, f)
	if f.Whole() {
		s.Index.Add(f.Hash, transcript.Place{Start: f.Start, End: f.End, Block: -1})
	}
}

// Enter opens an epoch: from now on exactly the folds that it lists are in force.
func (s *Folding) Enter(d EpochData) error {
	if err := s.check(d.Folds); err != nil {
		return err
	}
	n := len(s.Facts)
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
	in := s.SetOf(d.InForce, d.Bare)
	for i, f := range in.spans[min(1, len(in.spans)):] {
		if f.Start < in.spans[i].End {
			return fmt.Errorf("folds %d and %d of epoch %d overlap: %w", in.spans[i].ID, f.ID, d.Epoch, store.ErrCorrupt)
		}
	}
	s.InUse = in
	s.Epochs = max(s.Epochs, d.Epoch)
	s.History = append(s.History, d)
	s.Epoch = 0
	if at := s.inEffect(); len(at) > 0 {
		s.Epoch = s.History[at[len(at)-1]].Epoch
	}
	if d.Undo {
		s.Told = nil // the fold that showed it is not wanted
	}
	if d.DropThinking {
		s.Unbound = d.Messages
	}
	if d.Cache.PaysAfter > 0 { // else the cache was cold
		s.spent.rewritten += d.Cache.Rewritten
	}
	s.Rebuild()
	return nil
}

// SetOf returns the set of folds with the given numbers.
func (s *Folding) SetOf(ids []int, bare int) Folded {
	in := Folded{blocks: make(map[transcript.BlockRef]*Fold), Bare: bare}
	for _, id := range ids {
		f := s.Folds[id-1]
		if f.Whole() {
			in.spans = append(in.spans, f)
		} else {
			in.blocks[f.ref()] = f
		}
	}
	slices.SortFunc(in.spans, byPlace)
	return in
}

// InForce lists the numbers of the folds in the set, ascending.
func (in *Folded) InForce() []int {
	ids := make([]int, 0, len(in.spans)+len(in.blocks))
	for _, f := range in.spans {
		ids = append(ids, f.ID)
	}
	for _, f := range in.blocks {
		ids = append(ids, f.ID)
	}
	sort.Ints(ids)
	return ids
}

// Undone returns the record that takes the newest epoch back: it lists what was in force
// before it, and every fold made at birth. It reports false if there is no epoch.
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
	born := s.bornOnly()
	for _, id := range born.InForce() {
		if !slices.Contains(d.InForce, id) {
			d.InForce = append(d.InForce, id)
		}
	}
	slices.Sort(d.InForce)
	return d, true
}

// bornOnly is the set of the folds made at birth: what they replace was never shown.
func (s *Folding) bornOnly() Folded { return Folded{blocks: maps.Clone(s.born)} }

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

// Refused reports whether the provider refused the transcript as it is now before.
func (s *Folding) Refused() bool {
	return s.Settled() && s.History[len(s.History)-1].Trigger == TriggerRefused
}

// Settled reports whether an epoch was opened for the transcript as it is now. Then
// planning again would give up more although nothing new came, and the same request would
// not get the same bytes twice.
func (s *Folding) Settled() bool {
	n := len(s.History)
	return n > 0 && s.History[n-1].Messages == s.Transcript.Len()
}
