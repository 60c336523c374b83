// Package digest has what a program says and hears about digests by a model: [Options] say who
// writes them and within which bounds, and an [Origin] says how one came to be. Sessions ask the
// model, check what comes back against the conversation, and strike what it does not bear out.
package digest

import (
	"time"

	"github.com/pleat-dev/pleat/model"
)

// Options say who writes digests and within which bounds. With the zero value code writes
// them, and no model is called.
//
// Code always writes the rest of the page: what the user said, rules, pins, tasks and the
// ledger are never left to a model. What a model writes is checked against the conversation
// before it is used; docs/digest.md says how.
type Options struct {
	Generator model.Generator // asks the model; its panic is an error of that digest; nil: code writes digests
	Model     model.Model     // what the generator talks to; zero: its DefaultModel, else the session's model
	// Rules are the user's own rules for digests, such as "preserve every numerical value
	// verbatim". They are added to the prompt.
	Rules string

	Tokens int // most tokens of a digest; 0: what the view has room for, about half of it
	// NoFork: the request holds the conversation as text, with long results cut. Otherwise it
	// continues the live one, so that the provider's prompt cache is warm, where that is cheaper
	// and fits.
	NoFork bool

	// Deadline bounds the time of one digest with all its tries while callers wait, which is at most
	// three quarters of the time that their contexts leave; 0: a minute. One in the background may take
	// four times as long.
	Deadline time.Duration
	// NoBackground: digests are written only when they are needed, while the caller waits.
	// Otherwise they are prepared from yellow on, so that nobody waits at red, and one whose first
	// byte takes more than ten seconds goes on while code writes the page.
	NoBackground bool

	// Calls is the most calls of the model within ten minutes, counted from OpenSession on and with
	// the session's forks; 0: 24; negative: no limit.
	Calls int
	// Breaker is the number of failed digests in a row, counted as Calls are, after which code writes
	// them for five minutes; 0: the policy's, else 3; negative: never.
	Breaker int
}
