package pleat

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/dump"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Compact opens an epoch now, because the agent or the user asked. The focus, which may
// be empty, says what matters most. It returns the plan that was carried out, which counts in pleat's own
// tokens; an empty one means that nothing could be folded.
func (s *Session) Compact(ctx context.Context, focus string) (*fold.Plan, error) {
	return s.asked(ctx, "compact", focus, nil)
}

// Pull opens an epoch with these levers alone, as far as each of them goes. Begin with
// lever.Aim to stop at the budget's target. Without a lever it is an error, as is one that
// [fold.Steps.Check] refuses.
func (s *Session) Pull(ctx context.Context, levers ...fold.Lever) (*fold.Plan, error) {
	if len(levers) == 0 {
		return nil, fmt.Errorf("pull levers in session %s: there is none (Compact folds as the policy says)", s.Key())
	}
	steps := fold.Steps(levers)
	if err := steps.Check(lever.All()...); err != nil {
		return nil, fmt.Errorf("pull levers in session %s: %w", s.Key(), err)
	}
	return s.asked(ctx, "pull "+strings.Join(steps.Names(), ", ")+" in", "", steps)
}

// asked opens an epoch that somebody asked for, with these steps; nil: the policy's.
func (s *Session) asked(ctx context.Context, doing, focus string, steps fold.Steps) (*fold.Plan, error) {
	return within(ctx, s, doing, func() (*fold.Plan, error) {
		o := s.planOptionsLocked()
		o.Trigger, o.Focus, o.Steps = fold.TriggerAsked, focus, steps
		return s.epochLocked(ctx, o, false)
	})
}

// epochLocked plans, checks, stores and applies. An empty plan opens nothing, nor, where its view must
// fit, one whose view does not: what could not be sent would stay folded when there is room again.
// If another process wrote meanwhile, it plans again on what is true now.
func (s *Session) epochLocked(ctx context.Context, o fold.PlanOptions, mustFit bool) (*fold.Plan, error) {
	defer s.pages.Forget()
	pulled := o.Steps != nil // by a caller who wants these levers and no others
	known, saved := len(s.journal.Digests), false
	for conflicts := 0; ; {
		p, err := s.planLocked(ctx, o)
		if err != nil {
			return nil, err
		}
		if p.Need != nil { // the plan is complete without; with it, it is better
			if err := s.keepTranscriptLocked(ctx, &saved); err != nil {
				return nil, err
			}
			key := s.Key()
			s.digester.Answer(ctx, *p.Need)
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("wait for digest: %w", err)
			}
			if now := s.Key(); now != key {
				return nil, fmt.Errorf("wait for digest: the session went on as %s meanwhile: %w", now, store.ErrConflict)
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
			if w := s.meter.Warning(p); w != "" && o.Trigger == fold.TriggerRed &&
				s.warned.worse(s.st.Epochs, s.st.Parts.Total() > s.meter.Most()) {
				s.say.warn(ctx, Event{Warning: w, Plan: p})
			}
			return p, nil
		}
		p, err = s.beforeLocked(ctx, p, o)
		if err != nil || p.IsEmpty() {
			return p, err
		}
		p, again, err := s.checkPlanLocked(ctx, p, &o, pulled)
		if again {
			continue
		}
		if err != nil || p.IsEmpty() {
			return p, err
		}
		if mustFit && s.o.Policy.Fits() && p.After > s.meter.Most() {
			return nil, s.cannotFitLocked(s.st.PartsIn(p.In), s.meter.Most())
		}
		if slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Digest }) {
			if err := s.keepTranscriptLocked(ctx, &saved); err != nil {
				return nil, err
			}
		}
		err = s.enterLocked(ctx, p)
		if errors.Is(err, store.ErrConflict) && conflicts < journal.Tries {
			conflicts++
			continue
		}
		if err != nil {
			return nil, err
		}
		s.shownLocked().legal = legality{s.st.Len(), s.st.EpochSeq}
		s.afterLocked(ctx, p, known)
		return p, nil
	}
}

// checkPlanLocked checks the view of a plan. If it is not legal, or hardly smaller, it either changes
// the options so that another plan can be made, or returns an empty plan where the
// session can go on without, or an error.
func (s *Session) checkPlanLocked(
	ctx context.Context, p *fold.Plan, o *fold.PlanOptions, pulled bool,
) (checked *fold.Plan, again bool, err error) {
	none := &fold.Plan{
		Epoch: s.st.Epochs, Trigger: o.Trigger, Before: p.Before, After: p.Before, Limits: o.Limits,
	}
	fits := p.Before <= o.Limits.Max
	err = s.checkViewLocked(ctx, s.st.ViewOf(p.In))
	if errors.Is(err, transcript.ErrIllegal) {
		s.say.warn(ctx, Event{Warning: fmt.Sprintf(
			"a view with folds of %s would not be legal: another is planned without: %v", pulledIn(p), err)})
		if !o.Trigger.Voluntary() && !pulled && bar(o, p) {
			return nil, true, nil
		}
		if o.Trigger.Voluntary() || o.Trigger == fold.TriggerRed && fits {
			return none, false, nil
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("check view of epoch %d: %w", p.Epoch, err)
	}
	if !o.NoSpans || p.After <= o.Limits.Max || !s.o.Policy.Fits() {
		return p, false, nil
	}
	// Hardly anything is folded, which is not enough even as a fallback.
	if o.Trigger != fold.TriggerIllegal && fits {
		return none, false, nil
	}
	return nil, false, s.cannotFitLocked(s.st.PartsIn(p.In), o.Limits.Max)
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

// enterLocked makes the epoch durable and puts it in force.
func (s *Session) enterLocked(ctx context.Context, p *fold.Plan) error {
	return s.journal.Epoch(ctx, epoch.Data{
		Epoch: p.Epoch, Messages: s.st.Len(), Trigger: p.Trigger, Focus: p.Focus,
		Folds: p.Folds, InForce: p.In.IDs(), Bare: p.In.Bare, Window: s.o.Budget.Window,
		DropThinking: p.DropThinking, Before: p.Before, After: p.After, Cache: p.Cache, Warning: p.Warning,
		Kept: p.Kept,
	})
}

// keepTranscriptLocked writes the whole transcript as a plain file before a model is asked for the summary that replaces
// it, or else before the page does, where the policy wants that, and notes that it has. A call that still runs, such as
// the one that asked for the summary, gets a result that says so: other programs do not accept a call without one.
func (s *Session) keepTranscriptLocked(ctx context.Context, saved *bool) error {
	dir := s.o.Policy.Transcripts
	if s.o.KeepFile == nil || dir == "" || *saved {
		return nil
	}
	var b strings.Builder
	var open []transcript.ToolResult
	for i := range s.st.Len() {
		m, err := s.st.Message(ctx, i)
		if err != nil {
			return err
		}
		b.Write(append(dump.Line(m), '\n'))
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case transcript.ToolCall:
				open = append(open, transcript.Result(blk.ID, "[no result yet]"))
			case transcript.ToolResult:
				open = slices.DeleteFunc(open, func(r transcript.ToolResult) bool { return r.CallID == blk.CallID })
			}
		}
	}
	if len(open) > 0 {
		b.Write(append(dump.Line(transcript.Results(open...)), '\n'))
	}
	*saved = true
	name := path.Join(dir, fmt.Sprintf("transcript_%d.jsonl", s.o.Now().Unix()))
	s.say.keepFile(ctx, name, b.String())
	return nil
}
