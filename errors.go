package pleat

import (
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// AppendError is why [Session.Append] stopped. The first Added messages are in the session
// for good; the rest are not, and can be appended again. With [ErrConflict], what another
// process wrote comes after the first Added.
type AppendError struct {
	Key   store.SessionKey
	Added int // messages that were added
	Of    int // messages that should have been
	Err   error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append message %d of %d to session %s: %v", e.Added+1, e.Of, e.Key, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }

// CannotFitError says that no legal view fits: what must stay in every view is too large. It counts in
// pleat's own tokens.
type CannotFitError struct {
	Parts fold.Parts // what the smallest view is made of
	Max   int        // the most tokens that a view may have

	Reported, Limit tokens.Reported // the parts' sum and Max, as the provider would count them

	bound  string // why Max is less than the budget allows; empty if it is not
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

// Sizes names the parts and their sizes.
func (e *CannotFitError) Sizes() string {
	p := e.Parts
	n := text.Thousands[int]
	return fmt.Sprintf("%s tokens are too few: the smallest view has %s tokens by pleat's count, system prompt %s, "+
		"tools %s, user messages %s, pins and user words %s, the rest %s",
		n(e.Max), n(p.Total()), n(p.System), n(p.Tools), n(p.User), n(p.Pins),
		n(p.Total()-p.System-p.Tools-p.User-p.Pins))
}

// Is makes errors.Is(err, ErrCannotFit) true.
func (e *CannotFitError) Is(target error) bool { return target == fold.ErrCannotFit }
