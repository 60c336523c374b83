package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Compact opens an epoch now, because the agent or the user asked. The focus, which may
// be empty, says what matters most. It returns the plan that was carried out; an
// empty one means that nothing could be folded.
func (s *Session) Compact(ctx context.Context, focus string) (*fold.Plan, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	o := s.planOptions()
	o.Trigger, o.Focus = fold.TriggerAsked, focus
	p, err := s.epoch(ctx, o, false)
	if err != nil {
		return nil, fmt.Errorf("compact session %s: %w", s.key, err)
	}
	return p, nil
}

// Pull opens an epoch with these levers alone, as far as each of them goes. Begin with
// lever.Aim to stop at the budget's target. Without a lever it is an error, as is one that
// [fold.Steps.Check] refuses.
func (s *Session) Pull(ctx context.Context, levers ...fold.Lever) (*fold.Plan, error) {
	if len(levers) == 0 {
		return nil, fmt.Errorf("pull levers in session %s: there is none (Compact folds as the policy says)", s.key)
	}
	steps := fold.Steps(levers)
	if err := steps.Check(lever.All()...); err != nil {
		return nil, fmt.Errorf("pull levers in session %s: %w", s.key, err)
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	o := s.planOptions()
	o.Trigger, o.Steps = fold.TriggerAsked, steps
	p, err := s.epoch(ctx, o, false)
	if err != nil {
		return nil, fmt.Errorf("pull %s in session %s: %w", strings.Join(steps.Names(), ", "), s.key, err)
	}
	return p, nil
}

// epoch plans, checks, stores and applies. An empty plan opens nothing, nor, where its view must
// fit, one whose view does not: what could not be sent would stay folded when there is room again.
// If another process wrote meanwhile, it plans again on what is true now.
func (s *Session) epoch(ctx context.Context, o fold.PlanOptions, mustFit bool) (*fold.Plan, error) {
	defer s.pages.Forget()
	pulled := o.Steps != nil // by a caller who wants these levers and no others
	known := len(s.digests)
	for conflicts := 0; ; {
		p, err := s.plan(ctx, o)
		if err != nil {
			return nil, err
		}
		if p.Need != nil { // the plan is complete without; with it, it is better
			key := s.key
			s.answer(ctx, *p.Need)
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("wait for digest: %w", err)
			}
			if s.key != key {
				return nil, fmt.Errorf("wait for digest: the session went on as %s meanwhile: %w", s.key, store.ErrConflict)
			}
			o.Model = false // whatever came of it: it was asked for once
			continue
		}
		if p.IsEmpty() {
			must := o.Trigger == fold.TriggerIllegal || o.Barred != nil && o.Trigger != fold.TriggerAsked
			if must && !pulled && bar(&o, p) {
				continue
			}
			// There is nothing to warn of where another process has folded in the meantime.
			if w := s.meter.Warning(p); w != "" && o.Trigger == fold.TriggerRed && s.worse() {
				s.warn(ctx, Event{Warning: w, Plan: p})
			}
			return p, nil
		}
		wanted, err := s.before(ctx, &p, o)
		if err != nil || !wanted {
			return p, err
		}
		again, err := s.checkPlan(ctx, &p, &o, pulled)
		if again {
			continue
		}
		if err != nil || p.IsEmpty() {
			return p, err
		}
		if mustFit && s.o.Policy.Fits() && p.After > s.meter.Most() {
			return nil, s.cannotFit(s.partsIn(p), s.meter.Most())
		}
		err = s.enter(ctx, p)
		if errors.Is(err, store.ErrConflict) && conflicts < maxConflicts {
			conflicts++
			continue
		}
		if err != nil {
			return nil, err
		}
		s.legal = s.st.Len()
		s.after(ctx, p, known)
		return p, nil
	}
}

// checkPlan checks the view of a plan. If it is not legal, or hardly smaller, it either changes
// the options so that another plan can be made, or replaces the plan by an empty one where the
// session can go on without, or returns an error.
func (s *Session) checkPlan(
	ctx context.Context, p **fold.Plan, o *fold.PlanOptions, pulled bool,
) (again bool, err error) {
	none := &fold.Plan{
		Epoch: s.st.Epochs, Trigger: o.Trigger, Before: (*p).Before, After: (*p).Before, Limits: o.Limits,
	}
	fits := (*p).Before <= o.Limits.Max
	err = s.checkView(ctx, s.viewOf((*p).In))
	if errors.Is(err, transcript.ErrIllegal) {
		s.warn(ctx, Event{Warning: fmt.Sprintf(
			"a view with folds of %s would not be legal: another is planned without: %v",
			pulledIn(*p), err)})
		if !o.Trigger.Voluntary() && !pulled && bar(o, *p) {
			return true, nil
		}
		if o.Trigger.Voluntary() || o.Trigger == fold.TriggerRed && fits {
			*p = none
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("check view of epoch %d: %w", (*p).Epoch, err)
	}
	if !o.NoSpans || (*p).After <= o.Limits.Max || !s.o.Policy.Fits() {
		return false, nil
	}
	// Hardly anything is folded: that will not do, not even as a fallback.
	if o.Trigger != fold.TriggerIllegal && fits {
		*p = none
		return false, nil
	}
	return false, s.cannotFit(s.partsIn(*p), o.Limits.Max)
}

// partsIn counts the view that a plan makes.
func (s *Session) partsIn(p *fold.Plan) fold.Parts {
	then := s.st.Layout
	then.In = p.In
	parts, _ := then.Parts()
	return parts
}

// pulledIn lists the levers whose folds a plan has.
func pulledIn(p *fold.Plan) string {
	var steps []string
	for _, f := range p.Folds {
		if !slices.Contains(steps, f.Lever) {
			steps = append(steps, f.Lever)
		}
	}
	return strings.Join(steps, ", ")
}

// bar changes the options of a plan whose view was not legal. Step by step it bars the levers
// that fold whole messages, the last one first; then all but squeeze are barred, then the
// folds in force end, and at last messages stay where they are and only blocks are folded. It
// reports false if nothing is left to bar.
func bar(o *fold.PlanOptions, p *fold.Plan) bool {
	resort := policy.LastResort()
	for _, f := range slices.Backward(p.Folds) {
		if f.Whole() && o.Steps == nil && !slices.Contains(o.Barred, f.Lever) &&
			!slices.Contains(resort.Names(), f.Lever) {
			o.Barred = append(o.Barred, f.Lever)
			return true
		}
	}
	switch {
	case !o.Fresh && o.Barred != nil && o.Steps == nil:
		o.Steps = resort
	case !o.Fresh:
		o.Steps, o.Fresh = resort, true
	case !o.NoSpans:
		o.NoSpans = true
	default:
		return false
	}
	return true
}

// enter makes the epoch durable and puts it in force.
func (s *Session) enter(ctx context.Context, p *fold.Plan) error {
	if err := s.keepTranscript(ctx, p); err != nil {
		return err
	}
	data, err := json.Marshal(epoch.Data{
		Epoch: p.Epoch, Messages: s.st.Len(), Trigger: p.Trigger, Focus: p.Focus,
		Folds: p.Folds, InForce: p.In.IDs(), Bare: p.In.Bare, Window: s.o.Budget.Window,
		DropThinking: p.DropThinking, Before: p.Before, After: p.After, Cache: p.Cache, Warning: p.Warning,
		Kept: p.Kept,
	})
	if err != nil {
		return fmt.Errorf("encode epoch: %w", err)
	}
	return s.write(ctx, store.Entry{Kind: store.EntryEpoch, Data: data})
}

// keepTranscript writes the whole transcript as a plain file before a digest replaces
// it, where the policy wants that.
func (s *Session) keepTranscript(ctx context.Context, p *fold.Plan) error {
	dir := s.o.Policy.Transcripts
	digests := slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Digest })
	if s.o.KeepFile == nil || dir == "" || !digests {
		return nil
	}
	var b strings.Builder
	for i := range s.st.Len() {
		m, err := s.st.Message(ctx, i)
		if err != nil {
			return err
		}
		b.Write(append(summarizer.Line(m), '\n'))
	}
	name := path.Join(dir, fmt.Sprintf("transcript_%d.jsonl", s.o.Now().Unix()))
	s.keepFile(ctx, name, b.String())
	return nil
}
