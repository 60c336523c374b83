package pleat

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Refused opens an epoch because the provider said that the last view is too long, and returns the view to
// retry with. It never returns the view that was refused: if nothing more can be folded, the error is
// [ErrCannotFit]. What was folded on the way stays so, until [Session.Undo]. In a session that has given out no
// view yet, it is an error and changes nothing.
//
// [model.ClassifyError] reads a provider's answer:
//   - With numbers, they correct the estimate, and later views for the same model stay below the size that the
//     provider takes, unless [Session.SetBudget] sets a larger window. If the request asked for a long answer,
//     what that leaves of the window bounds the retry alone.
//   - Without numbers, or with those of an earlier refusal, the provider is taken to allow two thirds of the
//     view, but never less than it has answered before, until it answers more. For that guess no result is
//     folded that no model has seen, unless the view is nearly as large as a refused one, or is refused again.
//   - A request with too many bytes (413) says nothing about tokens: the view is folded, and nothing learned.
//
// Nil stands for a refusal without numbers. An error that is no overflow, such as a rate limit, is wrapped and
// changes nothing.
func (s *Session) Refused(ctx context.Context, e *model.APIError) (transcript.View, error) {
	if e != nil && !e.Overflow() {
		return transcript.View{}, fmt.Errorf("the view was not refused for its length: %w", e)
	}
	return within(ctx, s, "fold harder in", func() (transcript.View, error) { return s.refusedLocked(ctx, e) })
}

func (s *Session) refusedLocked(ctx context.Context, e *model.APIError) (transcript.View, error) {
	if !s.meter.HasSent() && !s.journal.Elsewhere {
		return transcript.View{}, errors.New("no view was sent yet")
	}
	total := s.st.Parts.Total()
	refusal := s.meter.ReadRefusal(e, total)
	if refusal.Told {
		if err := s.journal.Usage(ctx, refusal.Learn); err != nil {
			return transcript.View{}, err
		}
	}
	o := s.planOptionsLocked()
	o.Trigger = fold.TriggerRefused
	o.Limits, o.Sure = s.meter.Retry(refusal)
	if s.st.Refused() {
		o.Sure = 0
	}
	after, most := total, max(o.Limits.Max, o.Sure)
	short := func() bool { return after >= total || refusal.Told && after > most && s.o.Policy.Fits() }
	if _, err := s.epochLocked(ctx, o, false); err != nil {
		return transcript.View{}, err
	}
	if after = s.st.Parts.Total(); short() && len(s.o.Policy.OnRefusal) > 0 { // what the policy has at red may still fold
		o.Trigger = fold.TriggerRed
		if _, err := s.epochLocked(ctx, o, false); err != nil {
			return transcript.View{}, err
		}
		after = s.st.Parts.Total()
	}
	if short() {
		big := s.cannotFitLocked(s.st.Parts, most)
		switch {
		case refusal.Told && e.Output > 0:
			big.bound = fmt.Sprintf("The request asks for an answer of %s tokens, and the model's window has %s by the "+
				"provider's count: ask for fewer", text.Thousands(e.Output), text.Thousands(e.Limit))
		case after >= total:
			big.bound = "The provider refused this view, and nothing more of it can be folded"
		}
		return transcript.View{}, big
	}
	if guess, ok := s.meter.GuessOf(refusal, after); ok {
		if err := s.journal.Usage(ctx, guess); err != nil {
			return transcript.View{}, err
		}
	}
	return s.fittingLocked()
}

// cannotFitLocked is the error for a view of which at most so many of our tokens may be sent.
func (s *Session) cannotFitLocked(parts fold.Parts, most int) *CannotFitError {
	e := &CannotFitError{Parts: parts, Max: most, bound: s.meter.Bound()}
	e.Reported, e.Limit = s.meter.Reported(parts.Total()), s.meter.Reported(most)
	if !s.o.Policy.Fits() {
		e.policy = s.o.Policy.Name
	}
	return e
}
