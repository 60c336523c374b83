package pleat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
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
	err = fault.Caught(func() (err error) {
		s.mu.lend(func() { dec, err = s.o.Hooks.BeforeEpoch(ctx, seen) })
		return err
	})
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

// after tells of an epoch that has opened. The digests before known are of earlier ones.
func (s *Session) after(ctx context.Context, p *fold.Plan, known int) {
	for _, f := range p.Folds {
		e := Event{Kind: EventFold, Fold: f}
		if f.Digest {
			r := s.reportOf(f, known)
			e.Kind, e.Digest = EventDigest, &r
			if r.Why != "" && len(s.digests) == known && s.dig.flight == nil { // no model was asked
				s.warn(ctx, Event{Digest: &r, Warning: r.Unwritten()})
			}
		}
		s.tell(ctx, e)
	}
	snap := s.snapshot()
	s.tell(ctx, Event{Kind: EventEpoch, Plan: p, Snapshot: &snap, Before: s.meter.Reported(p.Before)})
	s.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	if p.Warning != "" {
		s.worse()
		s.warn(ctx, Event{Warning: p.Warning})
	}
	if s.o.Hooks.AfterEpoch != nil {
		report := func() { s.o.Hooks.AfterEpoch(ctx, s.report()) }
		err := fault.Caught(func() error { s.mu.lend(report); return nil })
		if err != nil {
			s.o.Logger.Warn("the hook after the epoch failed", append(fault.Log(err), "session", s.key.String())...)
		}
	}
}

// worse reports whether the view is worse than when a warning last said that it stays red: after
// another epoch, or now too large to be sent.
func (s *Session) worse() bool {
	now := redView{s.st.Epochs, s.st.Parts.Total() > s.meter.Most()}
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

// leavingOut calls plan until no lever fails, each time with one more barred.
func (s *Session) leavingOut(ctx context.Context, barred *[]string, plan func() error) error {
	for {
		err := plan()
		if err == nil || barred == nil {
			return err
		}
		name, ok := s.failed(ctx, err)
		if !ok || slices.Contains(*barred, name) {
			return err
		}
		*barred = append(slices.Clip(*barred), name)
	}
}

// failed reports whether an error is that of a lever without which the session can go on, and warns of
// it once. Levers of pleat's own return errors only where the store does.
func (s *Session) failed(ctx context.Context, err error) (name string, ok bool) {
	var l *fault.Lever
	if !errors.As(err, &l) || ctx.Err() != nil ||
		!l.Panicked && slices.Contains(fold.Steps(lever.All()).Names(), l.Name) {
		return "", false
	}
	if !slices.Contains(s.failing, l.Name) {
		s.failing = append(s.failing, l.Name)
		s.warn(ctx, Event{Warning: fmt.Sprintf("%v; what it would fold stays", l)})
	}
	return l.Name, true
}
