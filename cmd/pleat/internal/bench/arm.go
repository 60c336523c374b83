package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Arm is a method of compaction that takes part in the bench. To add one, write a
// [Method] and put it into the list given to [Run].
type Arm struct {
	Name string
	// Own marks the arm that only takes part where the session's own agent compacted.
	Own bool
	// Unbounded marks arms that are measured without a budget: they show what is there
	// to be had, and are not ranked.
	Unbounded bool
	// Weighs marks arms that act by prices: they are replayed once for each price list.
	Weighs bool
	// Summarizes marks arms that write summaries: by code, or by the model of [Setup].
	Summarizes bool
	Open       func(ctx context.Context, o Setup) (Method, error)
}

// Setup is what a method is told before a session begins.
type Setup struct {
	// Budget is the most tokens that a view may have. In a replay it is the model's
	// window and the method acts at its own thresholds within it; otherwise a view may
	// use all of it and is made once, or as often as Compact is called.
	Budget int
	Replay bool
	// Paid is a replay for money: with a system prompt and tools, and with the folds that pay.
	Paid bool

	Tokens *tokens.Tokenizer
	Model  model.Model    // prices and cache rules, for methods that weigh them
	Digest digest.Options // who writes summaries; zero: code
	Own    string         // the summary of the session's own agent at this cut, if there is one
	// Observe is told of what the engine does; nil: nobody.
	Observe func(context.Context, store.SessionKey, pleat.Event)
}

// Method is an arm at work on one session.
type Method interface {
	// Append takes messages in.
	Append(ctx context.Context, msgs ...transcript.Message) error
	// Compact makes room now, whether there is need or not.
	Compact(ctx context.Context) error
	// View is what the model would be sent now: data over the messages that were
	// appended. Idle is the time since the request before, zero where nobody knows.
	View(ctx context.Context, idle time.Duration) (transcript.View, error)
}

// Recaller is implemented by methods that can give back what they took away.
type Recaller interface {
	// Search is what the model gets for one query.
	Search(ctx context.Context, query string) (string, error)
	// Unfold is what the model gets for a handle: its first page. What is no handle is
	// [pleat.ErrNotFound].
	Unfold(ctx context.Context, handle string) (string, error)
}

// Arms are the arms that come with the bench, in the order of its tables. Of the policies only
// pleat's own default has recall here: in pleat every policy has, but the published designs
// behind the others know nothing of the kind, and with it their figures for one recall would
// all be the same.
func Arms() []Arm {
	var arms []Arm
	for _, name := range []string{
		"default", "book", "threshold", "three-layer", "four-lever", "four-layer", "truncate",
	} {
		p, err := policy.ByName(name)
		if err != nil {
			panic(err) // the names are those of this module
		}
		arms = append(arms, PolicyArm(p, name == "default"))
	}
	return append(
		arms,
		Arm{Name: "tail", Open: openRule(tail)},
		Arm{Name: "own", Own: true, Open: openRule(own)},
		Arm{Name: "none", Unbounded: true, Open: openRule(none)},
	)
}

// summary is a plain summary beside as many of the newest turns as fit: what most agents do. Code
// cannot write it, so it takes part only when it is named.
func summary() Arm {
	with := func(budget int) Arm {
		room := min(budget/2, 10_000)
		return PolicyArm(fold.Policy{Name: "summary", FoldHead: true, AtRed: fold.Steps{lever.Summarize{
			Fill: true, Tokens: room, Stub: "{summary}", Ask: fold.Ask{Prompt: fmt.Sprintf("Summarize this session for "+
				"the agent that goes on with it and will be asked about it, as detailed and exact as %d tokens allow, and not "+
				"shorter: tasks, decisions and reasons, findings, exact names, values, commands, results, errors, how things "+
				"stand, what comes next. Answer with text and call no tools.", room)},
		}}}, false)
	}
	a := with(0)
	a.Open = func(ctx context.Context, o Setup) (Method, error) { return with(o.Budget).Open(ctx, o) }
	return a
}

// ArmsByName chooses from [Arms] and the arm "summary", in the order of the names.
func ArmsByName(names ...string) ([]Arm, error) {
	all := append(Arms(), summary())
	have := ArmNames(all)
	var out []Arm
	for _, name := range names {
		i := slices.Index(have, name)
		if i < 0 {
			return nil, fmt.Errorf("find arm %q: there are %s", name, strings.Join(have, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// ArmNames lists the names of arms.
func ArmNames(arms []Arm) (names []string) {
	for _, a := range arms {
		names = append(names, a.Name)
	}
	return names
}
