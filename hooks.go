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

// beforeLocked asks the hook and returns the plan to carry out, which is empty if there is none. Pins that the
// hook adds are stored and the plan is made again with them.
func (s *Session) beforeLocked(ctx context.Context, p *fold.Plan, o fold.PlanOptions) (*fold.Plan, error) {
	if s.o.Hooks.BeforeEpoch == nil {
		return p, nil
	}
	seen, err := copied(p, s.st.Len()) // a hook's changes are not carried out
	if err != nil {
		return nil, err
	}
	var dec EpochDecision
	err = fault.Caught(func() (err error) {
		s.mu.lend(func() { dec, err = s.o.Hooks.BeforeEpoch(ctx, seen) })
		return err
	})
	if err != nil {
		return nil, &fault.Hook{Err: err}
	}
	for _, text := range dec.Pins {
		if err := s.pinLocked(ctx, text); err != nil {
			return nil, fmt.Errorf("hook before epoch: %w", err)
		}
	}
	switch {
	case dec.Veto && o.Trigger == fold.TriggerAsked:
		return nil, errVetoed
	case dec.Veto && o.Trigger.Voluntary():
		return new(fold.Plan), nil
	case len(dec.Pins) > 0:
		return s.planLocked(ctx, o)
	}
	return p, nil
}

// copied returns a copy of a plan for so many messages, and of its folds.
func copied(p *fold.Plan, messages int) (_ *fold.Plan, err error) {
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
	for f := range p.In.In(0, messages+1) {
		in = append(in, own(f))
	}
	seen.In, err = fold.NewSet(in, p.In.Bare)
	return &seen, err
}

var errVetoed = errors.New("the hook before the epoch vetoed it")

// afterLocked tells observers of an epoch that has opened. The first known digests are of earlier epochs.
func (s *Session) afterLocked(ctx context.Context, p *fold.Plan, known int) {
	for _, f := range p.Folds {
		e := Event{Kind: EventFold, Fold: f}
		if f.Digest {
			r := s.digester.OriginOf(f, known)
			e.Kind, e.Digest = EventDigest, &r
			if r.Why != "" && len(s.journal.Digests) == known && !s.digester.Flying() { // no model was asked
				s.say.warn(ctx, Event{Digest: &r, Warning: r.Unwritten()})
			}
		}
		s.say.tell(ctx, e)
	}
	snap := s.snapshotLocked()
	s.say.tell(ctx, Event{
		Kind: EventEpoch, Plan: p, Snapshot: &snap, Before: s.meter.Reported(p.Before),
		Rewritten: snap.Tokens - s.meter.Reported(p.After-p.Cache.Rewritten),
	})
	s.say.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	if p.Warning != "" {
		s.warned.worse(s.st.Epochs, s.st.Parts.Total() > s.meter.Most())
		s.say.warn(ctx, Event{Warning: p.Warning})
	}
	if s.o.Hooks.AfterEpoch != nil {
		report := func() { s.o.Hooks.AfterEpoch(ctx, s.reportLocked()) }
		err := fault.Caught(func() error { s.mu.lend(report); return nil })
		if err != nil {
			s.o.Logger.Warn("the hook after the epoch failed", append(fault.Log(err), "session", s.Key().String())...)
		}
	}
}

// warned is what observers were warned of, once each.
type warned struct {
	red      bool     // that the view stays red,
	epoch    int      // under this epoch,
	tooLarge bool     // and that it was too large to be sent
	levers   []string // that failed
	forked   bool     // that the newest history made a fork
}

// worse reports whether the view is worse than when a warning last said that it stays red: after
// another epoch, or now too large to be sent.
func (w *warned) worse(epoch int, tooLarge bool) bool {
	if w.red && w.epoch == epoch && (w.tooLarge || !tooLarge) {
		return false
	}
	w.red, w.epoch, w.tooLarge = true, epoch, tooLarge
	return true
}

// leavingOutLocked calls plan until no lever fails, each time with one more barred.
func (s *Session) leavingOutLocked(ctx context.Context, barred *[]string, plan func() error) error {
	for {
		err := plan()
		if err == nil || barred == nil {
			return err
		}
		name, ok := s.failedLocked(ctx, err)
		if !ok || slices.Contains(*barred, name) {
			return err
		}
		*barred = append(slices.Clip(*barred), name)
	}
}

// failedLocked reports whether an error comes from a lever that the session can do without, and warns of
// it once. Pleat's own levers return errors only if the store does.
func (s *Session) failedLocked(ctx context.Context, err error) (name string, ok bool) {
	var l *fault.Lever
	if !errors.As(err, &l) || ctx.Err() != nil ||
		!l.Panicked && slices.Contains(fold.Steps(lever.All()).Names(), l.Name) {
		return "", false
	}
	if !slices.Contains(s.warned.levers, l.Name) {
		s.warned.levers = append(s.warned.levers, l.Name)
		s.say.warn(ctx, Event{Warning: fmt.Sprintf("%v; what it would fold stays", l)})
	}
	return l.Name, true
}
