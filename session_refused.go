package pleat

import (
	"cmp"
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
	if s.sent == 0 && !s.elsewhere {
		return transcript.View{}, errors.New("no view was sent yet")
	}
	total := s.st.Parts.Total()
	limit, sure, told, err := s.learn(ctx, e, total)
	if err != nil {
		return transcript.View{}, err
	}
	o := s.planOptions()
	o.Trigger, o.Sure = fold.TriggerRefused, sure
	if told || s.cap > 0 && s.refusedAt == 0 { // it said, now or before, how many it takes
		o.Sure = min(sure, o.Limits.Max)
	}
	if s.st.Refused() {
		o.Sure = 0
	}
	o.Limits.Max = min(o.Limits.Max, limit)
	o.Limits.Red = min(o.Limits.Red, o.Limits.Max)
	o.Limits.Target = min(o.Limits.Target, o.Limits.Max*3/4)
	after, most := total, max(o.Limits.Max, o.Sure)
	short := func() bool { return after >= total || told && after > most && s.o.Policy.Fits() }
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
		case told && e.Output > 0:
			big.bound = fmt.Sprintf("The request asks for an answer of %s tokens, and the model's window has %s by the "+
				"provider's count: ask for fewer", text.Thousands(e.Output), text.Thousands(e.Limit))
		case after >= total:
			big.bound = "The provider refused this view, and nothing more of it can be folded"
		}
		return transcript.View{}, big
	}
	if !told && (e == nil || e.Kind != model.ErrorTooLarge) {
		learned := max(s.theirs(max(limit, after)), s.taken)
		for s.cal.Samples() > 0 && s.cal.Estimate(learned) < after {
			learned++ // rounding must not forbid the view that was just made
		}
		if err := s.writeUsage(ctx, usageData{Limit: learned, Refused: s.theirs(total)}); err != nil {
			return transcript.View{}, err
		}
	}
	return s.fitting()
}

// learn returns how many of our tokens a view should have after a refusal, the size from which it
// would surely be refused again, and whether the provider gave numbers, which are stored.
func (s *Session) learn(ctx context.Context, e *model.APIError, total int) (limit, sure int, told bool, err error) {
	if e == nil || e.Kind == model.ErrorTooLarge || e.Used > 0 && e.Used == s.refusal {
		return total * 2 / 3, nearly(total), false, nil // its numbers are bytes, or those of a view before
	}
	limit = nearly(total)
	sure = limit
	room := e.Limit - e.Output // for the prompt
	switch {
	case e.Used > room && room > 0:
		sure = int(float64(total) * float64(room) / float64(e.Used))
	case e.Over > 0:
		sure = total - e.Over
	case e.Used <= 0 && room <= 0:
		return total * 2 / 3, sure, false, nil
	}
	limit = min(limit, sure)
	d := usageData{Usage: model.Usage{Input: e.Used}, Estimated: s.lastSent(), Limit: max(room, 0)}
	if e.Output > 0 { // another request may ask for a shorter answer
		d.Limit = max(d.Limit, s.taken)
	}
	switch {
	case room > 0 && e.Used <= 0 && s.theirs(total) <= room:
		d.Usage.Input = room + 1 // at least, or it would not be refused
	case room <= 0 && e.Used > 0:
		d.Refused = e.Used
	case room <= 0:
		d.Limit, d.Refused = max(s.theirs(limit), s.taken, 1), s.theirs(total)
	}
	return limit, sure, true, s.writeUsage(ctx, d)
}

// learnFrom takes in what the provider reported of a prompt. What it said of a prompt for another
// model holds for that one only.
func (s *Session) learnFrom(d usageData) {
	s.usd += d.USD
	if d.Model != s.o.Model.ID {
		return
	}
	plausible := s.cal.Observe(d.Estimated, d.Usage.Prompt())
	switch {
	case d.Limit > 0:
		s.cap, s.refusedAt = d.Limit, d.Refused
		s.refusal = cmp.Or(d.Usage.Input, s.refusal)
		if d.Refused == 0 {
			s.taken = d.Limit
		}
	case d.Refused == 0 && plausible:
		s.took(d.Usage.Prompt())
	}
}

// took says that the provider has answered a prompt of that size, by its count.
func (s *Session) took(n int) {
	s.taken = max(s.taken, n)
	if s.cap > 0 {
		s.cap = max(s.cap, n)
	}
}

// levels are the budget's, in the provider's tokens: lowered if it said that it takes less.
func (s *Session) levels() fold.Limits {
	l := s.o.Budget.Limits()
	if s.cap <= 0 || s.cap >= l.Max {
		return l
	}
	e := func(n int) int { return max(int(float64(n)*float64(s.cap)/float64(l.Max)), 1) }
	return fold.Limits{Target: e(l.Target), Yellow: e(l.Yellow), Red: e(l.Red), Max: s.cap, Window: e(l.Window)}
}

// sure is the size in our own tokens from which a view is surely refused, while the cap is a
// guess; otherwise 0.
func (s *Session) sure() int {
	if s.refusedAt == 0 {
		return 0
	}
	l := s.o.Budget.Limits()
	l.Max = min(l.Max, nearly(s.refusedAt))
	return s.inOwnTokens(l).Max
}

// nearly is a size that is taken to be refused because n was.
func nearly(n int) int { return n * 9 / 10 }

// CannotFitError says that no legal view fits: what may never be given up is too large. It counts in
// the session's own tokens; [Session.Reported] makes the provider's of them.
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
	e := &CannotFitError{Parts: parts, Max: most}
	if !s.o.Policy.Fits() {
		e.policy = s.o.Policy.Name
	}
	n := text.Thousands
	switch {
	case s.cap == 0 || s.cap >= s.o.Budget.Limits().Max:
	case s.refusedAt == 0:
		e.bound = fmt.Sprintf("The provider said that it takes %s tokens, by its count; "+
			"SetBudget with a larger Window overrules it", n(s.cap))
	default:
		e.bound = fmt.Sprintf("The provider refused %s tokens without saying how many it takes: "+
			"this bound is a guess, which SetBudget forgets", n(s.refusedAt))
	}
	return e
}

// Sizes names the parts and their sizes.
func (e *CannotFitError) Sizes() string {
	p := e.Parts
	n := text.Thousands
	return fmt.Sprintf("the smallest view has %s tokens by pleat's count, %s may be sent: "+
		"system prompt %s, tools %s, user messages %s, pins and user words %s, the rest %s",
		n(p.Total()), n(e.Max), n(p.System), n(p.Tools), n(p.User), n(p.Pins),
		n(p.Total()-p.System-p.Tools-p.User-p.Pins))
}

// Is makes errors.Is(err, ErrCannotFit) true.
func (e *CannotFitError) Is(target error) bool { return target == fold.ErrCannotFit }
