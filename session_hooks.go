package pleat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
)

// before asks the hook. Pins that it adds are stored and the plan is made again with them.
func (s *Session) before(ctx context.Context, p **fold.Plan, o fold.PlanOptions) (bool, error) {
	if s.o.Hooks.BeforeEpoch == nil {
		return true, nil
	}
	seen, err := s.copied(*p) // a hook's changes are not carried out
	if err != nil {
		return false, err
	}
	var dec EpochDecision
	err = fault.Caught(func() (err error) { dec, err = s.o.Hooks.BeforeEpoch(ctx, seen); return err })
	if err != nil {
		return false, &fault.Hook{Err: err}
	}
	for _, text := range dec.Pins {
		if err := s.pin(ctx, text); err != nil {
			return false, fmt.Errorf("hook before epoch: %w", err)
		}
	}
	switch {
	case dec.Veto && o.Trigger == fold.TriggerAsked:
		return false, errVetoed
	case dec.Veto && o.Trigger.Voluntary():
		return false, nil
	}
	if len(dec.Pins) > 0 {
		if *p, err = s.plan(ctx, o); err != nil {
			return false, err
		}
	}
	return !(*p).IsEmpty(), nil
}

// copied returns a copy of a plan, and of its folds.
func (s *Session) copied(p *fold.Plan) (*fold.Plan, error) {
	seen, byID := *p, make(map[int]*fold.Fold)
	own := func(f *fold.Fold) *fold.Fold {
		if byID[f.ID] == nil {
			c := *f
			c.Stands, byID[f.ID] = slices.Clone(f.Stands), &c
		}
		return byID[f.ID]
	}
	seen.Folds = nil
	for _, f := range p.Folds {
		seen.Folds = append(seen.Folds, own(f))
	}
	var in []*fold.Fold
	for f := range p.In.In(0, s.st.Len()+1) {
		in = append(in, own(f))
	}
	var err error
	seen.In, err = fold.NewSet(in, p.In.Bare)
	return &seen, err
}

var errVetoed = errors.New("the hook before the epoch vetoed it")

func (s *Session) after(ctx context.Context, p *fold.Plan) {
	for _, f := range p.Folds {
		e := Event{Kind: EventFold, Fold: f}
		if f.Digest {
			r := s.reportOf(f)
			e.Kind, e.Digest = EventDigest, &r
			if ok, why := s.canDigest(); !ok && why != "" && f.By == "code" && (r.Why == "" || r.End != f.End) {
				r = digest.Origin{Start: f.Start, End: f.End, By: "code", Model: s.o.Digest.Model.ID, Why: why}
				s.warn(ctx, Event{Digest: &r, Warning: r.Unwritten()})
			}
		}
		s.tell(ctx, e)
	}
	snap := s.snapshot()
	s.tell(ctx, Event{Kind: EventEpoch, Plan: p, Snapshot: &snap})
	s.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	if p.Warning != "" {
		s.worse()
		s.warn(ctx, Event{Warning: p.Warning})
	}
	if s.o.Hooks.AfterEpoch != nil {
		err := fault.Caught(func() error { s.o.Hooks.AfterEpoch(ctx, s.report()); return nil })
		if err != nil {
			s.o.Logger.Warn("the hook after the epoch failed", append(fault.Log(err), "session", s.key.String())...)
		}
	}
}

// worse reports whether the view is worse than when a warning last said that it stays red: after
// another epoch, or now too large to be sent.
func (s *Session) worse() bool {
	now := redView{s.st.Epochs, s.st.Parts.Total() > s.most()}
	was := s.stillRed
	if was != nil && was.epoch == now.epoch && (was.tooLarge || !now.tooLarge) {
		return false
	}
	s.stillRed = &now
	return true
}

// redView is a view that stays red under an epoch.
type redView struct {
	epoch    int
	tooLarge bool
}
