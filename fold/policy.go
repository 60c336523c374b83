package fold

import (
	"fmt"
	"strings"
	"time"
)

// Policy says which levers run, in which order, with which numbers, and when an epoch
// may begin. It is data: the five source texts that pleat grew from are policies beside
// the default, driven by the same engine. Start from one of [Policies] and change what
// you need.
type Policy struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one line for people

	// Budget is used for the levels that the session's own budget leaves open.
	Budget Budget `json:"budget"`
	// CharsPerToken estimates tokens from characters instead of counting them; 0: count.
	CharsPerToken int `json:"chars_per_token,omitempty"`

	// Levers run in this order when an epoch opens, until the view is at or under
	// target. Spill runs at birth, wherever it stands.
	Levers []Lever `json:"levers"`
	// UntilGreen stops the levers when the view is no longer red, instead of at target.
	UntilGreen bool `json:"until_green,omitempty"`
	// EveryTurn lists levers that run before every request, red or not.
	EveryTurn []Lever `json:"every_turn,omitempty"`
	// Pays lets an epoch open below red when it saves money. It needs prices.
	Pays bool `json:"pays,omitempty"`
	// Guaranteed says that a view that fits is always found, or none is sent. Without
	// it the policy gives up with a warning, as some of the source texts do.
	Guaranteed bool `json:"guaranteed,omitempty"`

	Spill    Spill    `json:"spill"`
	Mask     Mask     `json:"mask"`
	Collapse Collapse `json:"collapse"`
	Snip     Snip     `json:"snip"`
	Digest   DigestBy `json:"digest"`
	Restore  Restore  `json:"restore"`
	Reactive Reactive `json:"reactive"`

	// Transcripts is a folder to which the whole transcript is written before a digest
	// replaces it; empty: the store is enough.
	Transcripts string `json:"transcripts,omitempty"`
}

// Spill says which results are too large to be sent at all.
type Spill struct {
	Chars   int            `json:"chars"`            // a result of more characters is folded before it is first sent; 0: never
	Tools   map[string]int `json:"tools,omitempty"`  // other limits for single tools
	Message int            `json:"message"`          // all results of one message together: the largest go first; 0: no limit
	Preview int            `json:"preview"`          // characters of it that are shown
	Window  int            `json:"window,omitempty"` // no result may take more than one part in this many of the window; 0: no such limit
	Dir     string         `json:"dir,omitempty"`    // folder to which the result is written as a plain file too
	Format  string         `json:"format,omitempty"` // placeholder; empty: pleat's stub
	Exempt  []string       `json:"exempt,omitempty"` // tools whose results are never spilled
}

// Mask says which old results are replaced by a placeholder.
type Mask struct {
	Keep   int           `json:"keep"`             // newest results that stay
	Min    int           `json:"min"`              // results of fewer characters stay
	Exempt []string      `json:"exempt,omitempty"` // tools whose results stay
	Format string        `json:"format,omitempty"` // placeholder; empty: pleat's stub
	Idle   time.Duration `json:"idle,omitempty"`   // also masks before a request after so long a pause
	All    bool          `json:"all,omitempty"`    // masks all old results at once instead of the oldest until the target is met
	// ByProvider leaves old results to the provider's own clearing, where the wire has
	// it; the wire package writes the request's field for it.
	ByProvider bool `json:"by_provider,omitempty"`
}

// Collapse says which stretches of work become one line.
type Collapse struct {
	Rounds int  `json:"rounds"`         // a stretch has at least so many rounds
	Only   bool `json:"only,omitempty"` // while it suffices no digest is made at all
}

// Snip says when and how the middle of a conversation goes.
type Snip struct {
	Above  int    `json:"above"` // messages
	Head   int    `json:"head"`
	Tail   int    `json:"tail"`
	Format string `json:"format,omitempty"` // placeholder; empty: pleat's own, with user words and ledger
	Main   bool   `json:"main,omitempty"`   // only in the main conversation, not in a sub-agent's
}

// DigestBy says how the oldest turns are digested.
type DigestBy struct {
	Keep     int    `json:"keep"`                // newest messages that stay verbatim
	Fill     bool   `json:"fill,omitempty"`      // more of them stay where there is room
	Whole    bool   `json:"whole,omitempty"`     // everything is replaced, the newest turns too
	NoHead   bool   `json:"no_head,omitempty"`   // the head is digested with the rest
	Tokens   int    `json:"tokens"`              // room for the digest; 0: half of the target
	Words    int    `json:"words,omitempty"`     // also at most so many words; 0: no such limit
	Source   int    `json:"source,omitempty"`    // characters of the conversation that the summarizer reads; 0: all
	Format   string `json:"format,omitempty"`    // how the message looks; empty: pleat's page
	Ack      string `json:"ack,omitempty"`       // assistant message after it; empty: none
	Retries  int    `json:"retries,omitempty"`   // further tries when the summarizer's stream breaks
	Breaker  int    `json:"breaker,omitempty"`   // failures in a row after which it rests
	Notes    bool   `json:"notes,omitempty"`     // tries a digest from the session's notes before any model
	EndsTurn bool   `json:"ends_turn,omitempty"` // a compact call by the agent ends its turn
	Prompt   string `json:"prompt,omitempty"`    // what the summarizer is told beyond the usual
	ZeroTemp bool   `json:"zero_temp,omitempty"` // ask the summarizer at temperature 0 where the model takes one
	// Trust takes the summarizer's text as it came, in place of pleat's page, as the source
	// texts do. It is refused only where there is nothing to use.
	Trust bool `json:"trust,omitempty"`
}

// Restore says what comes back after a digest.
type Restore struct {
	Files   int  `json:"files"`    // newest touched files
	PerFile int  `json:"per_file"` // tokens
	Total   int  `json:"total"`    // tokens, and never more than a quarter of the window
	State   bool `json:"state"`    // todo list, plan, loaded skills, running children
}

// Reactive says what happens when the provider refuses a request as too long.
type Reactive struct {
	Tail    int    `json:"tail"`    // newest messages that stay
	Retries int    `json:"retries"` // requests after the first
	Format  string `json:"format,omitempty"`
}

// expand fills a placeholder's format: {tool}, {call_id}, {tokens}, {handle}, {n},
// {size}, {path}, {preview}, {summary}.
func expand(format string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(format)
}

// Policies are the policies that come with pleat, by name; see [PolicyByName].
func Policies() []Policy {
	return []Policy{
		DefaultPolicy(), bookPolicy(), thresholdPolicy(), threeLayerPolicy(), fourLeverPolicy(),
		fourLayerPolicy(), truncatePolicy(), nonePolicy(),
	}
}

// PolicyByName finds one of [Policies].
func PolicyByName(name string) (Policy, error) {
	var names []string
	for _, p := range Policies() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Policy{}, fmt.Errorf("find policy %q: there are %s", name, strings.Join(names, ", "))
}
