package bench

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Live is how one arm fared in whole sessions, request by request, with its own thresholds:
// what docs/sources.md puts side by side.
type Live struct {
	Policy      string           `json:"policy"`
	Requests    int              `json:"requests"`
	Tokens      int              `json:"tokens"`      // of all requests
	Largest     int              `json:"largest"`     // request
	Over        int              `json:"over"`        // requests that the window does not hold
	Compactions int              `json:"compactions"` // epochs at red
	Asked       int              `json:"asked"`       // requests to the model that summarizes
	Summaries   int              `json:"summaries"`   // summaries, by a model or by code
	Families    map[Family]Count `json:"families"`    // what is left at the end
}

// Lived is what [Compare] found, by arm.
type Lived []Live

// Compare lives through the sessions up to their cuts under each arm, in a window as large as the first budget. If a
// model writes the summaries that the arms ask for, it does so twice, and what differs stands below the row by code:
// a page by code keeps rules that the prompt of a design does not ask for.
func Compare(ctx context.Context, sessions []Session, o Options) (rows Lived, err error) {
	o = o.withDefaults()
	o.Arms = slices.DeleteFunc(slices.Clone(o.Arms), func(a Arm) bool { return a.Own })
	byCode := o
	byCode.Summarizer = nil
	if rows, err = live(ctx, sessions, byCode); err != nil || o.Summarizer == nil {
		return rows, err
	}
	byModel, err := live(ctx, sessions, o)
	for i, row := range slices.Backward(byModel) {
		if row.Asked > 0 {
			row.Policy += " by " + o.Summarizer.Name
			rows = slices.Insert(rows, i+1, row)
		}
	}
	return rows, err
}

func live(ctx context.Context, sessions []Session, o Options) (Lived, error) {
	rows := make(Lived, len(o.Arms))
	for i, arm := range o.Arms {
		rows[i] = Live{Policy: arm.Name, Families: map[Family]Count{}}
	}
	var mu sync.Mutex
	failed := each(ctx, len(sessions), runtime.GOMAXPROCS(0), o.Progress, func(ctx context.Context, i int) error {
		w := &worker{o: o, s: &sessions[i], tokens: tokens.NewTokenizer(model.Model{}, nil)}
		c := w.newCut(sessions[i].futureSpan())
		for k, arm := range o.Arms {
			row, err := c.live(ctx, arm)
			if err != nil {
				return fmt.Errorf("live under %s: %w", arm.Name, err)
			}
			mu.Lock()
			rows[k] = rows[k].plus(row)
			mu.Unlock()
		}
		return nil
	})
	return rows, failed
}

// live asks for a view before every answer of the session, and at the end looks the probes up.
func (c *cut) live(ctx context.Context, arm Arm) (Live, error) {
	window := c.o.Budgets[0]
	row := Live{Policy: arm.Name, Families: map[Family]Count{}}
	method, err := arm.Open(ctx, Setup{
		Budget: window, Replay: true, Tokens: c.tokens, Model: model.Model{ID: "bench", Window: window},
		Digest: c.o.Summarizer.digest(),
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			switch {
			case e.Kind == pleat.EventEpoch && !e.Plan.Trigger.Voluntary():
				row.Compactions++
			case e.Kind == pleat.EventDigest && e.Fold != nil:
				row.Summaries++
				row.Asked += e.Digest.Calls
			}
		},
	})
	if err != nil {
		return row, err
	}
	var msgs []transcript.Message
	request := func(v transcript.View, _ time.Duration, _ int) (err error) {
		msgs, err = v.Resolve(c.whole)
		n := c.tokens.CountRequest(model.Request{Messages: msgs})
		row.Requests, row.Tokens, row.Largest = row.Requests+1, row.Tokens+n, max(row.Largest, n)
		if n > window {
			row.Over++
		}
		return err
	}
	if err := c.s.play(ctx, method, len(c.before), false, request); err != nil {
		return row, err
	}
	v, err := method.View(ctx, 0)
	if err == nil {
		err = cmp.Or(request(v, 0, len(c.before)), c.o.Summarizer.failed())
	}
	if err != nil {
		return row, err
	}
	cell := Cell{Families: row.Families}
	return row, c.look(ctx, &cell, nil, seeView(v, msgs))
}

func (l Live) plus(o Live) Live {
	l.Requests, l.Tokens, l.Largest = l.Requests+o.Requests, l.Tokens+o.Tokens, max(l.Largest, o.Largest)
	l.Over, l.Compactions = l.Over+o.Over, l.Compactions+o.Compactions
	l.Asked, l.Summaries = l.Asked+o.Asked, l.Summaries+o.Summaries
	for f, n := range o.Families {
		l.Families[f] = l.Families[f].plus(n)
	}
	return l
}

// Print implements [term.Result].
func (l Lived) Print(p *term.Page) {
	table := [][]string{{
		"policy", "requests", "tokens", "largest", "too large", "compactions", "summaries", "asked",
		"rules", "words", "results", "files",
	}}
	for _, r := range l {
		row := []string{r.Policy}
		for _, n := range []int{r.Requests, r.Tokens, r.Largest, r.Over, r.Compactions, r.Summaries, r.Asked} {
			row = append(row, term.Thousands(n))
		}
		for _, f := range []Family{Constraints, HumanWords, Outcomes, Artifacts} {
			row = append(row, fmt.Sprintf("%.2f", r.Families[f].InContext()))
		}
		table = append(table, row)
	}
	rows(p, table)
}
