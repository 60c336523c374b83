package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Live is how one policy fared in whole sessions, request by request, with its own thresholds:
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

// LiveOptions say how sessions are lived through.
type LiveOptions struct {
	Policies   []fold.Policy
	Window     int         // of the model
	Summarizer *Summarizer // nil: code writes the summaries
	Progress   func(done, all int)
}

// Compare lives through the sessions under each policy: made-up ones to their end, others up to
// their cut.
func Compare(ctx context.Context, sessions []Session, o LiveOptions) ([]Live, error) {
	rows := make([]Live, len(o.Policies))
	for i, p := range o.Policies {
		rows[i] = Live{Policy: p.Name, Families: map[Family]Count{}}
	}
	var mu sync.Mutex
	failed := each(ctx, len(sessions), runtime.GOMAXPROCS(0), o.Progress, func(ctx context.Context, i int) error {
		w := &worker{s: &sessions[i], tokens: tokens.NewTokenizer(model.Model{}, nil)}
		spans := sessions[i].spans()
		c := w.newCut(spans[len(spans)-1])
		for k, p := range o.Policies {
			row, err := c.live(ctx, p, o)
			if err != nil {
				return fmt.Errorf("live under %s: %w", p.Name, err)
			}
			mu.Lock()
			rows[k] = rows[k].plus(row)
			mu.Unlock()
		}
		return nil
	})
	return rows, failed
}

// Beside compares once more, with a model that summarizes as each policy asks it to, and puts what differs below
// the rows by code: a page by code keeps rules that the prompt of a design does not ask for.
func Beside(ctx context.Context, sessions []Session, o LiveOptions, byCode []Live) (rows []Live, _ error) {
	byModel, err := Compare(ctx, sessions, o)
	for i, row := range byModel {
		rows = append(rows, byCode[i])
		if row.Asked > 0 {
			row.Policy += " by " + o.Summarizer.Name
			rows = append(rows, row)
		}
	}
	return rows, err
}

// live asks for a view before every answer of the session, and at the end looks the probes up.
func (c *cut) live(ctx context.Context, p fold.Policy, o LiveOptions) (Live, error) {
	row := Live{Policy: p.Name, Families: map[Family]Count{}}
	opts := &pleat.Options{
		Model: model.Model{ID: "bench", Window: o.Window}, Codecs: codecs, Policy: p, Digest: o.Summarizer.digest(),
		Recall: pleat.UnfoldCall,
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			switch {
			case e.Kind == pleat.EventEpoch && !e.Plan.Trigger.Voluntary():
				row.Compactions++
			case e.Kind == pleat.EventDigest && e.Fold != nil:
				row.Summaries++
				row.Asked += e.Digest.Calls
			}
		},
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "bench"}, opts)
	if err != nil {
		return row, err
	}
	defer s.Close()
	var msgs []transcript.Message
	ask := func() (transcript.View, error) {
		v, err := s.View(ctx, pleat.Turn{})
		if err == nil {
			msgs, err = s.Resolve(ctx, v)
		}
		n := c.tokens.CountRequest(model.Request{Messages: msgs})
		row.Requests, row.Tokens, row.Largest = row.Requests+1, row.Tokens+n, max(row.Largest, n)
		if n > o.Window {
			row.Over++
		}
		return v, err
	}
	for i, m := range c.before {
		if i > 0 && answers(c.before, i) {
			if _, err := ask(); err != nil {
				return row, err
			}
		}
		if err := s.Append(ctx, m); err != nil {
			return row, err
		}
	}
	v, err := ask()
	if err == nil {
		err = o.Summarizer.failed()
	}
	if err != nil {
		return row, err
	}
	cell := Cell{Families: row.Families}
	return row, c.look(ctx, &cell, &engine{s: s, tokens: c.tokens}, seeView(v, msgs))
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

// WriteLive writes the table.
func WriteLive(w io.Writer, rows []Live) error {
	p := &printer{w: w}
	table := [][]string{{
		"policy", "requests", "tokens", "largest", "too large", "compactions", "summaries", "asked",
		"rules", "words", "results", "files",
	}}
	for _, r := range rows {
		row := []string{
			r.Policy, text.Thousands(r.Requests), text.Thousands(r.Tokens), text.Thousands(r.Largest), text.Thousands(r.Over),
			text.Thousands(r.Compactions), text.Thousands(r.Summaries), text.Thousands(r.Asked),
		}
		for _, f := range []Family{Constraints, HumanWords, Outcomes, Artifacts} {
			row = append(row, fmt.Sprintf("%.2f", r.Families[f].InContext()))
		}
		table = append(table, row)
	}
	p.rows(table)
	return p.err
}
