package pleat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/transcript"
)

// Turn describes the request that a view is for. The zero value is an ordinary one.
type Turn struct {
	// Idle is the time since the previous request, from which the session can tell that the provider's
	// cache is cold. Zero if unknown.
	Idle time.Duration
	// Since is the first message of the turn, where the caller answers calls before the turn
	// is over: results from there on are not folded, as if no model had seen them. Zero if unknown.
	Since int
	// Again says that the same request was sent before, as after a rate limit: nothing more is
	// folded for it as long as it fits, whatever was learned since.
	Again bool
}

// View returns the view to send to the model now. If the window forces it, or the policy
// wants it, an epoch opens first: its folds are stored, then the view is returned. Where
// nothing fits, the error is a [CannotFitError], and nothing is folded. While no fold is in
// force the view is the whole transcript.
//
// The view must not be changed. It stays valid when the session goes on.
func (s *Session) View(ctx context.Context, turn Turn) (transcript.View, error) {
	return within(ctx, s, "view of", func() (transcript.View, error) { return s.viewLocked(ctx, turn) })
}

func (s *Session) viewLocked(ctx context.Context, turn Turn) (transcript.View, error) {
	snap := s.snapshotLocked()
	s.say.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	s.st.Since = turn.Since
	o, due := s.dueLocked(ctx, turn)
	if !due || o.Trigger.Voluntary() {
		legal, err := s.stillLegalLocked(ctx)
		if err != nil {
			return transcript.View{}, err
		}
		if !legal {
			o.Trigger, due = fold.TriggerIllegal, true
		}
	}
	if due {
		if _, err := s.epochLocked(ctx, o, true); err != nil {
			return transcript.View{}, err
		}
	} else if o.Model {
		s.digestAheadLocked(ctx, o)
	}
	return s.fittingLocked()
}

// digestAheadLocked has a digest written in the background if the next epoch at red will need one.
func (s *Session) digestAheadLocked(ctx context.Context, o fold.PlanOptions) {
	need := func(ctx context.Context) (need *fold.Need, err error) {
		err = s.leavingOutLocked(ctx, &o.Barred, func() (err error) {
			need, err = fold.NeedAhead(ctx, s.st, s.st.Layout.In, &s.o.Policy, o)
			return err
		})
		return need, err
	}
	warm := func(ctx context.Context) error {
		o := s.planOptionsLocked()
		o.Trigger, o.Model = fold.TriggerRed, false
		_, err := s.planLocked(ctx, o)
		return err
	}
	s.digester.Ahead(ctx, s.st.Parts.Total(), o.Limits, need, warm)
}

// legality says when the view in force was last known to be legal.
type legality struct {
	messages int    // the length of the transcript then; 0 if unknown
	epoch    uint64 // the entry of the epoch then
}

// stillLegalLocked reports whether the view in force is legal. It was when its epoch opened, and
// an answer to a legal request leaves it so. Only what came without an answer is checked,
// because after a request that failed the user may say something else, and answers without
// the thinking that their turn must begin with. That it cannot be found out is an error.
func (s *Session) stillLegalLocked(ctx context.Context) (bool, error) {
	seen := s.shownLocked()
	now, was := legality{s.st.Len(), s.st.EpochSeq}, seen.legal
	known := was.messages > 0 && was.epoch == now.epoch
	if known && was == now || !s.st.Folded() || known && s.st.Layout.Answers(was.messages) {
		seen.legal = now
		return true, nil
	}
	switch err := s.checkViewLocked(ctx, s.st.View()); {
	case err == nil:
		seen.legal = now
		return true, nil
	case errors.Is(err, transcript.ErrIllegal):
		s.o.Logger.Warn("the view in force is no longer legal; folding anew", "session", s.Key().String(), "err", err)
		return false, nil
	default:
		return false, fmt.Errorf("check the view in force: %w", err)
	}
}

// fittingLocked is the view in force, if it may be sent.
func (s *Session) fittingLocked() (transcript.View, error) {
	if s.o.Policy.Fits() && s.st.Parts.Total() > s.meter.Most() {
		return transcript.View{}, s.cannotFitLocked(s.st.Parts, s.meter.Most())
	}
	if s.st.Len() > 0 {
		s.meter.Sent(s.st.Parts.Total())
	}
	s.st.Marked = s.st.Len() // only the proxy writes marks: without it, a view that is given out counts as one
	return s.st.ViewWithLead(), nil
}

// dueLocked decides whether an epoch opens before this request, and why. Its cost does not
// grow with the history.
func (s *Session) dueLocked(ctx context.Context, turn Turn) (fold.PlanOptions, bool) {
	o := s.planOptionsLocked()
	m, p := &s.o.Model, &s.o.Policy
	ttl := m.Cache.TTL
	o.Cold = turn.Idle > 0 && len(ttl) > 0 && turn.Idle > ttl[0]
	total := s.st.Parts.Total()
	switch {
	case turn.Again && total <= max(o.Limits.Max, o.Sure):
		return o, false
	case s.digester.Flying() && total <= o.Limits.Red+(o.Limits.Max-o.Limits.Red)/2:
		return o, false // the digest is being written: there is still room to go on meanwhile
	case total >= o.Limits.Red && (total > max(o.Limits.Max, o.Sure) || !s.st.Settled()):
		o.Trigger = fold.TriggerRed
	case s.st.Settled():
		return o, false
	case p.IdleAfter > 0 && turn.Idle >= p.IdleAfter:
		o.Trigger = fold.TriggerIdle
	default:
		pays := len(p.WhenItPays) > 0 && !s.o.NoRecall // nobody could ask for what is folded before it must be
		if target, near := s.meter.Cliff(total, o.Limits); near && pays {
			o.Trigger, o.Limits.Target = fold.TriggerCliff, target
			return o, true
		}
		var from int
		var cost fold.CacheCost
		if saver := p.Saver(); pays {
			err := fault.Of(saver, func() error { from, cost = s.st.PayingFrom(saver, o.Rates, o.Cold); return nil })
			s.failedLocked(ctx, err)
		}
		switch {
		case cost.Gain > 0:
			o.Trigger, o.From = fold.TriggerPays, from
		case len(p.EveryTurn) > 0:
			o.Trigger = fold.TriggerTurn
		}
		return o, o.Trigger != ""
	}
	return o, true
}

func (s *Session) planOptionsLocked() fold.PlanOptions {
	can, _ := s.digester.Can()
	lay, thinking := &s.st.Layout, &s.o.Model.Thinking
	return fold.PlanOptions{
		Past: s.st.Past(), Head: lay.Head, Recall: lay.Recall, ThinkFirst: lay.ThinkFirst,
		Limits: s.meter.Limits(), Sure: s.meter.Sure(), Rates: s.meter.Rates(s.st.Parts.Total()),
		Pages: cmp.Or[fold.Writer](s.o.Pages, s.pages),
		Binds: thinking.Bound, Silent: thinking.Silent, Child: s.o.Child, Model: can,
	}
}

func (s *Session) planLocked(ctx context.Context, o fold.PlanOptions) (p *fold.Plan, err error) {
	s.shownLocked()      // what was taken back is in no page
	o.Past = s.st.Past() // another process may have written since o was made
	barred := &o.Barred
	if o.Steps != nil { // a caller wants these
		barred = nil
	}
	err = s.leavingOutLocked(ctx, barred, func() (err error) {
		p, err = fold.Make(ctx, s.st, s.st.Layout.In, &s.o.Policy, o)
		return err
	})
	if err == nil && p.Warning != "" {
		p.Warning = s.meter.Warning(p)
	}
	return p, err
}

// Plan returns the folds that [Session.Compact] would make now with this focus, and makes none:
// nothing is stored, and no model is asked, so code writes the digest in it.
func (s *Session) Plan(ctx context.Context, focus string) (*fold.Plan, error) {
	return within(ctx, s, "plan", func() (*fold.Plan, error) {
		o := s.planOptionsLocked()
		o.Trigger, o.Focus = fold.TriggerAsked, focus
		defer s.pages.Forget()
		return s.planLocked(ctx, o)
	})
}

// checkViewLocked returns an error if the wire would refuse a view, or if that cannot be told
// because a message cannot be read.
func (s *Session) checkViewLocked(ctx context.Context, messages []transcript.ViewMessage) error {
	v := transcript.View{Messages: messages}
	return s.st.Reading(ctx, func(t *transcript.Transcript) error {
		if bad := v.Check(t); len(bad) > 0 {
			return fmt.Errorf("%s: %w", bad[0], transcript.ErrIllegal)
		}
		if s.o.Check == nil {
			return nil
		}
		return s.o.Check(v, t)
	})
}
