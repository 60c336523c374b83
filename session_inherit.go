package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/store"
)

// legacy is what a fork has from the session that it was made of, wherever they part: it is no part
// of the conversation.
type legacy struct {
	pins  []string
	takes meter.Usage   // what the provider takes
	known bool          // it is known
	epoch *epoch.Data   // that it opened behind that place; nil: the fork has it
	told  []store.Entry // the digests before that epoch
}

// inherit takes it over.
func (s *Session) inherit(ctx context.Context, from legacy) error {
	if from.epoch != nil && s.st.Len() == from.epoch.Messages {
		err := s.inheritEpoch(ctx, *from.epoch, from.told)
		if err != nil && !errors.Is(err, store.ErrConflict) { // another has done it
			return err
		}
	}
	for _, p := range s.st.Pins {
		if !slices.Contains(from.pins, p) {
			if err := s.writePin(ctx, pinData{Text: p, Remove: true}); err != nil {
				return err
			}
		}
	}
	for _, p := range from.pins {
		if !slices.Contains(s.st.Pins, p) {
			if err := s.writePin(ctx, pinData{Text: p}); err != nil {
				return err
			}
		}
	}
	if !from.known || s.meter.Knows(from.takes) {
		return nil
	}
	return s.writeUsage(ctx, from.takes)
}

// toldBehind returns the digests that were stored behind the place where a history parts, and tell of
// what both have.
func (s *Session) toldBehind(ctx context.Context, upTo uint64, said int) (list []store.Entry, err error) {
	for e, err := range s.store.Scan(ctx, s.key, upTo+1) {
		var d digestData
		switch {
		case err != nil:
			return nil, err
		case e.Seq > s.st.EpochSeq:
			return list, nil
		case e.Kind != store.EntryDigest || json.Unmarshal(e.Data, &d) != nil || d.End > said:
			continue
		}
		if e.BodySize > 0 && e.Body == nil {
			if e.Body, err = s.store.Body(ctx, s.key, e.BodyHash); err != nil {
				continue // without it the next digest is of everything
			}
		}
		list = append(list, store.Entry{Kind: e.Kind, Data: e.Data, Body: e.Body})
	}
	return list, nil
}

// inheritEpoch opens an epoch of the session that this one was made of. Folds that were made before
// they parted are here already, under the same numbers.
func (s *Session) inheritEpoch(ctx context.Context, d epoch.Data, told []store.Entry) error {
	folds := d.Folds
	d.Epoch, d.Undo, d.Cache, d.Folds, d.InForce = s.st.Epochs+1, false, fold.CacheCost{}, nil, nil
	for _, f := range folds {
		if f.ID > len(s.st.Folds) {
			own := *f
			own.ID = len(s.st.Folds) + len(d.Folds) + 1
			f = &own
			d.Folds = append(d.Folds, f)
		}
		d.InForce = append(d.InForce, f.ID)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode epoch: %w", err)
	}
	return s.write(ctx, append(slices.Clone(told), store.Entry{Kind: store.EntryEpoch, Data: data})...)
}
