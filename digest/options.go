package digest

import (
	"time"

	"github.com/pleat-dev/pleat/model"
)

// DigestOptions say who writes digests and within which bounds. The zero value: code
// writes them, and no model is ever called.
//
// Whoever writes the digest, code keeps the rest of the page: the user's words and rules,
// pins, tasks and the ledger are never left to a model. What a model writes is checked
// against the conversation before it is used; docs/digest.md says how.
type Options struct {
	Generator model.Generator // asks the model; nil: code writes digests
	Model     model.Model     // what the generator talks to; zero: the session's model
	// Rules are the user's own for digests, such as "preserve every numerical value
	// verbatim". They are added to the prompt.
	Rules string

	Tokens int // most tokens of a digest; 0: what the view has room for, about a third of a small one
	Words  int // most words of a digest; 0: no such limit

	Fork ForkMode // whether the request continues the live one; zero: whatever is cheaper and fits

	// Deadline bounds the time of one digest with all its tries while the caller waits;
	// 0: a minute. One made in the background may take four times as long.
	Deadline time.Duration
	// NoBackground: digests are made only when they are needed, while the caller waits.
	// Otherwise they are prepared from yellow on, so that at red nobody waits.
	NoBackground bool

	Calls   int           // most calls of the model within Per; 0: 24; negative: no limit
	Per     time.Duration // 0: ten minutes
	Breaker int           // failed digests in a row after which code writes them; 0: the policy's, else 3; negative: never
	Pause   time.Duration // after so long one more is tried; 0: five minutes
}

// ForkMode says how the summarizer is asked.
type ForkMode uint8

// The ways to ask. A forked request has the live one's system prompt, tools and messages
// and ends with the instruction, so that the provider's prompt cache is warm. A standalone
// request holds the conversation as text, with long results cut.
const (
	ForkAuto   ForkMode = iota // whatever is cheaper and fits
	ForkAlways                 // forked, as long as it fits
	ForkNever                  // always standalone
)

func (o *Options) Fill(breaker int, session model.Model) {
	if o.Model.ID == "" && o.Model.Window == 0 {
		o.Model = session
	}
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Deadline <= 0 {
		o.Deadline = time.Minute
	}
	def(&o.Calls, 24)
	if o.Per <= 0 {
		o.Per = 10 * time.Minute
	}
	def(&o.Breaker, breaker)
	def(&o.Breaker, 3)
	if o.Pause <= 0 {
		o.Pause = 5 * time.Minute
	}
}
