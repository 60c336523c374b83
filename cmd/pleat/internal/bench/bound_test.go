package bench

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// The numbers of the default policy that the bound is computed with.
const (
	boundKeep  = 3
	boundLeast = 120
	boundStub  = 55
)

// lookAhead is what a session would cost with the best schedule of masking that can be
// found when the whole session is known: dynamic programming over the same folds. At
// every request it may mask all results from any place on, but the newest three and those
// that no model has seen yet. What it passes over it never comes back to: fewer requests
// would be left to pay for more rewriting. It holds for prices without tiers, a cache that
// never dies, and sessions that stay below red.
//
// Sizes are those with which messages were first shown, so that what is spilled at birth
// is spilled here too; stub is what a masked result takes.
func lookAhead(s *Session, first map[int]shown, p model.Price, keep, least, stub int) float64 {
	type result struct{ message, saves int }
	var all []result
	known := make([]int, len(s.Messages)+1) // results before each message
	sum := make([]int, len(s.Messages)+1)   // tokens before each message
	for i, m := range s.Messages {
		known[i], sum[i+1] = len(all), sum[i]+first[i].tokens
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok {
				saves := 0
				if k := len(all) - known[i]; len(r.Text()) >= least && k < len(first[i].results) {
					saves = max(first[i].results[k]-stub, 0)
				}
				all = append(all, result{i, saves})
			}
		}
	}
	known[len(s.Messages)] = len(all)
	saved := make([]int, len(all)+1)
	for j, r := range all {
		saved[j+1] = saved[j] + r.saves
	}
	requests := s.requests()
	if len(requests) == 0 {
		return 0
	}
	cost := unfoldedCost(requests, sum, p)
	best := map[int]float64{0: 0} // what was saved, by the first result that is not behind us
	for t := 1; t < len(requests); t++ {
		end := min(known[requests[t]]-keep, known[requests[t-1]])
		if end <= 0 {
			continue
		}
		left := float64(len(requests) - t)
		gain := make([]float64, end+1) // of the best place from each result on
		for i := end - 1; i >= 0; i-- {
			gain[i] = gain[i+1]
			if all[i].saves == 0 {
				continue
			}
			removed := saved[end] - saved[i]
			rewritten := max(sum[requests[t-1]]-sum[all[i].message]-removed, 0)
			g := p.CacheRead*float64(removed)*left - (p.CacheWrite-p.CacheRead)*float64(rewritten)
			gain[i] = max(gain[i], g)
		}
		top := -1.0
		for from, had := range best {
			if from <= end && gain[from] > 0 {
				top = max(top, had+gain[from])
			}
		}
		if top > best[end] {
			best[end] = top
		}
	}
	return (cost - slices.Max(slices.Collect(maps.Values(best)))) / 1e6
}

// requests returns the number of messages in each request of the session.
func (s *Session) requests() (list []int) {
	for i := 1; i < len(s.Messages); i++ {
		if s.Messages[i].Role() == transcript.RoleAssistant && s.Messages[i-1].Role() != transcript.RoleAssistant {
			list = append(list, i)
		}
	}
	return list
}

// unfoldedCost is what the requests cost without any fold, in millionths of a dollar. sum has
// the tokens before each message.
func unfoldedCost(requests, sum []int, p model.Price) float64 {
	cost, before := 0.0, 0
	for t, n := range requests {
		if t > 0 {
			cost += float64(fixedTokens+sum[before]) * p.CacheRead
		} else {
			cost += fixedTokens * p.CacheWrite
		}
		cost += float64(sum[n]-sum[before]) * p.CacheWrite
		before = n
	}
	return cost
}

// shown is a message as it was first shown, large results already spilled.
type shown struct {
	tokens  int
	results []int // tokens of each result in it
}

// noting notes how a method shows messages at first.
type noting struct {
	Method
	w     *worker
	first map[int]shown
}

// noted is an arm whose method notes that.
func noted(w *worker, arm Arm, first map[int]shown) Arm {
	open := arm.Open
	arm.Open = func(ctx context.Context, o Setup) (Method, error) {
		m, err := open(ctx, o)
		return &noting{m, w, first}, err
	}
	return arm
}

func (n *noting) View(ctx context.Context, idle time.Duration) (transcript.View, error) {
	v, err := n.Method.View(ctx, idle)
	if err != nil {
		return v, err
	}
	msgs, err := v.Resolve(func(i int) transcript.Message { return n.w.s.Messages[i] })
	for i, m := range msgs {
		at := v.Messages[i].Source
		if _, ok := n.first[at]; ok || at < 0 {
			continue
		}
		f := shown{tokens: n.w.tokens.CountMessage(m)}
		for _, b := range m.Blocks().All() {
			if b.Kind() == transcript.KindToolResult {
				f.results = append(f.results, n.w.tokens.CountBlock(b))
			}
		}
		n.first[at] = f
	}
	return v, err
}
