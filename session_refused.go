package pleat

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/transcript"
)

// Refused opens an epoch because the provider said that the last view is too long, and returns the
// view to retry with. What it says about sizes corrects the estimate and the budget: later views
// for the same model stay below the size it takes, unless [Session.SetBudget] sets a larger window.
// If it gives no numbers, or those of a refusal before, which are not of this view, that size is
// taken to be two thirds of what it refused, but never less than it has taken before or said that
// it takes, until it takes more. For that guess no result is folded that no model has seen, unless
// the view is nearly as large as a refused one. What the answer that the request asked for leaves
// of the window bounds the retry, but no later view to less than was taken before. It never
// returns the view that was refused: if nothing can be folded any more it returns [ErrCannotFit].
// What was folded on the way stays so, until [Session.Undo]. In a session that has given out no
// view yet it is another error, and changes nothing.
//
// [model.ClassifyError] reads a provider's answer. Nil stands for a refusal of which nothing is
// known. An error that is no overflow, such as a rate limit, is wrapped and changes nothing.
// A request with too many bytes (413) tells no size in tokens: the view is folded, and nothing learned.
func (s *Session) Refused(ctx context.Context, e *model.APIError) (transcript.View, error) {
	if e != nil && !e.Overflow() {
		return transcript.View{}, fmt.Errorf("the view was not refused for its length: %w", e)
	}
	if err := s.wait(ctx); err != nil {
		return transcript.View{}, err
	}
	defer s.mu.Unlock()
	v, err := s.refused(ctx, e)
	if err != nil {
		return transcript.View{}, fmt.Errorf("fold harder in session %s: %w", s.key, err)
	}
	return v, nil
}

func (s *Session) refused(ctx context.Context, e *model.APIError) (transcript.View, error) {
	if !s.meter.HasSent() && !s.elsewhere {
		return transcript.View{}, errors.New("no view was sent yet")
	}
	total := s.st.Parts.Total()
	refusal := s.meter.Refused(e, total)
	if refusal.Told {
		if err := s.writeUsage(ctx, refusal.Learn); err != nil {
			return transcript.View{}, err
		}
	}
	o := s.planOptions()
	o.Trigger = fold.TriggerRefused
	o.Limits, o.Sure = s.meter.Retry(refusal)
	if s.st.Refused() {
		o.Sure = 0
	}
	after, most := total, max(o.Limits.Max, o.Sure)
	short := func() bool { return after >= total || refusal.Told && after > most && s.o.Policy.Fits() }
	if _, err := s.epoch(ctx, o, false); err != nil {
		return transcript.View{}, err
	}
	if after = s.st.Parts.Total(); short() && len(s.o.Policy.OnRefusal) > 0 { // what the policy has at red may still fold
		o.Trigger = fold.TriggerRed
		if _, err := s.epoch(ctx, o, false); err != nil {
			return transcript.View{}, err
		}
		after = s.st.Parts.Total()
	}
	if short() {
		big := s.cannotFit(s.st.Parts, most)
		switch {
		case refusal.Told && e.Output > 0:
			big.bound = fmt.Sprintf("The request asks for an answer of %s tokens, and the model's window has %s by the "+
				"provider's count: ask for fewer", text.Thousands(e.Output), text.Thousands(e.Limit))
		case after >= total:
			big.bound = "The provider refused this view, and nothing more of it can be folded"
		}
		return transcript.View{}, big
	}
	if guess, ok := s.meter.Guess(refusal, after); ok {
		if err := s.writeUsage(ctx, guess); err != nil {
			return transcript.View{}, err
		}
	}
	return s.fitting()
}

// CannotFitError says that no legal view fits: what may never be given up is too large. It counts in
// the session's own tokens.
type CannotFitError struct {
	Parts fold.Parts // what the smallest view is made of
	Max   int        // the most tokens that a view may have

	bound  string // what bounds it, if that is no longer the budget
	policy string // the policy, if it does not fold until a view fits
}

// Error names the parts and their sizes, and what helps.
func (e *CannotFitError) Error() string {
	bound := e.bound
	if bound != "" {
		bound = ". " + bound
	}
	help := "use a model with a larger window, fewer tools, or a shorter system prompt or message"
	if e.policy != "" {
		help = fmt.Sprintf("the policy %q folds no more: use another, such as %q", e.policy, policy.Default().Name)
	}
	return e.Sizes() + bound + " (" + help + ")"
}

// cannotFit is the error for a view of which at most so many of our tokens may be sent.
func (s *Session) cannotFit(parts fold.Parts, most int) *CannotFitError {
	e := &CannotFitError{Parts: parts, Max: most, bound: s.meter.Bound()}
	if !s.o.Policy.Fits() {
		e.policy = s.o.Policy.Name
	}
	return e
}

// Sizes names the parts and their sizes.
func (e *CannotFitError) Sizes() string {
	p := e.Parts
	n := text.Thousands[int]
	return fmt.Sprintf("the smallest view has %s tokens by pleat's count, %s may be sent: "+
		"system prompt %s, tools %s, user messages %s, pins and user words %s, the rest %s",
		n(p.Total()), n(e.Max), n(p.System), n(p.Tools), n(p.User), n(p.Pins),
		n(p.Total()-p.System-p.Tools-p.User-p.Pins))
}

// Is makes errors.Is(err, ErrCannotFit) true.
func (e *CannotFitError) Is(target error) bool { return target == fold.ErrCannotFit }
