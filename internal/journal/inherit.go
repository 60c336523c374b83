package journal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/store"
)

// Bequest is what a fork has from the session that it was made of, wherever they part: it is no part
// of the conversation.
type Bequest struct {
	pins  []string
	takes meter.Usage   // what the provider takes
	known bool          // that is known
	epoch *epoch.Data   // one that opened after the place where they part; nil: the fork has it
	told  []store.Entry // the digests before that epoch
}

// Bequest returns what a fork from after the entry upTo gets, which has so many messages; e is an epoch that it
// should have, nil if none.
func (j *Journal) Bequest(ctx context.Context, upTo uint64, messages int, e *epoch.Data) (l Bequest, err error) {
	l = Bequest{pins: slices.Clone(j.o.State.Pins), epoch: e}
	if l.takes, l.known = j.o.Meter.Bequeath(); e != nil {
		l.told, err = j.toldAfter(ctx, upTo, messages)
	}
	return l, err
}

// Inherit takes it over.
func (j *Journal) Inherit(ctx context.Context, from Bequest) error {
	st := j.o.State
	if from.epoch != nil && st.Len() == from.epoch.Messages {
		err := j.inheritEpoch(ctx, *from.epoch, from.told)
		if err != nil && !errors.Is(err, store.ErrConflict) { // another has done it
			return err
		}
	}
	for _, p := range st.Pins {
		if !slices.Contains(from.pins, p) {
			if err := j.Pin(ctx, p, true); err != nil {
				return err
			}
		}
	}
	for _, p := range from.pins {
		if !slices.Contains(st.Pins, p) {
			if err := j.Pin(ctx, p, false); err != nil {
				return err
			}
		}
	}
	if !from.known || j.o.Meter.Knows(from.takes) {
		return nil
	}
	return j.Usage(ctx, from.takes)
}

// toldAfter returns the digests that were stored after an entry and tell of the first messages alone.
func (j *Journal) toldAfter(ctx context.Context, upTo uint64, messages int) (list []store.Entry, err error) {
	for e, err := range j.o.Store.Scan(ctx, j.o.Key, upTo+1) {
		var d told
		switch {
		case err != nil:
			return nil, err
		case e.Seq > j.o.State.EpochSeq:
			return list, nil
		case e.Kind != store.EntryDigest || json.Unmarshal(e.Data, &d) != nil || d.End > messages:
			continue
		}
		if e.BodySize > 0 && e.Body == nil {
			if e.Body, err = j.o.Store.Body(ctx, j.o.Key, e.BodyHash); err != nil {
				continue // without it the next digest is of everything
			}
		}
		list = append(list, store.Entry{Kind: e.Kind, Data: e.Data, Body: e.Body})
	}
	return list, nil
}

// inheritEpoch opens an epoch of the session that this one was made of. Folds that were made before
// they parted are here already, under the same numbers.
func (j *Journal) inheritEpoch(ctx context.Context, d epoch.Data, told []store.Entry) error {
	st, made := j.o.State, d.Folds
	d.Epoch, d.Undo, d.Cache, d.Folds, d.InForce = st.Epochs+1, false, fold.CacheCost{}, nil, nil
	for _, f := range made {
		if f.ID > len(st.Folds) {
			own := *f
			own.ID = len(st.Folds) + len(d.Folds) + 1
			f = &own
			d.Folds = append(d.Folds, f)
		}
		d.InForce = append(d.InForce, f.ID)
	}
	e, err := entry(store.EntryEpoch, d)
	if err != nil {
		return err
	}
	return j.Write(ctx, append(slices.Clone(told), e)...)
}
