package bench

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Money is what an arm costs over whole sessions by one price list, in relation to no
// compaction at all.
type Money struct {
	Arm    string `json:"arm"`
	Prices string `json:"prices"`

	Sessions int     `json:"sessions"` // long ones: of at least 40 requests
	Total    float64 `json:"total"`    // all long sessions together, against none
	// Against is the same against what the [Agents] compact by themselves.
	Against map[string]float64 `json:"against,omitempty"`
	// WithRecalls adds a round for every answer that needs something that was folded away.
	WithRecalls float64 `json:"with_recalls"`
	Recalls     float64 `json:"recalls_per_100"` // such answers in a hundred

	Worst        float64 `json:"worst"` // of all sessions, long and short
	WorstSession string  `json:"worst_session"`
	Short        int     `json:"short_sessions"`
	ShortWorst   float64 `json:"short_worst"` // of the short ones

	Epochs float64 `json:"epochs_per_100"` // changes of what was sent before, in 100 requests
}

// sessionMoney is one session's part.
type sessionMoney struct {
	requests, epochs, recalls int
	none, cost, recalled      float64
	agents                    [3]float64 // what they cost, in the order of Agents
}

// priced names an arm and a price list by their places.
type priced struct{ arm, prices int }

// money replays the session with every arm.
func (w *worker) money(ctx context.Context) (map[priced]sessionMoney, error) {
	needs := needsOf(w.s)
	base, err := w.replay(ctx, Arm{Name: "none", Open: openRule(none)}, w.o.Prices[0].Model, nil)
	if err != nil {
		return nil, err
	}
	out := make(map[priced]sessionMoney)
	for n, arm := range w.o.Arms {
		if arm.Own || arm.Unbounded {
			continue
		}
		var steps []step
		for i, p := range w.o.Prices {
			if arm.Weighs || i == 0 {
				if steps, err = w.replay(ctx, arm, p.Model, needs); err != nil {
					return nil, err
				}
			}
			m := sum(steps)
			for k, a := range Agents() {
				m.agents[k] = p.cost(replayAgent(a, base), false)
			}
			m.none, m.cost, m.recalled = p.cost(base, false), p.cost(steps, false), p.cost(steps, true)
			out[priced{n, i}] = m
		}
	}
	return out, nil
}

func sum(steps []step) sessionMoney {
	m := sessionMoney{requests: len(steps)}
	for _, s := range steps {
		if s.changed {
			m.epochs++
		}
		if s.recall {
			m.recalls++
		}
	}
	return m
}

// sumMoney adds the sessions up.
func sumMoney(o Options, results []*sessionResult) []Money {
	out := []Money{}
	if o.NoMoney {
		return out
	}
	for a, arm := range o.Arms {
		if arm.Own || arm.Unbounded {
			continue
		}
		for p, prices := range o.Prices {
			m := Money{Arm: arm.Name, Prices: prices.Name, Against: map[string]float64{}}
			var all sessionMoney
			for _, r := range results {
				s := r.money[priced{a, p}]
				m.take(r.row.Name, s)
				if s.requests >= longSession {
					all = all.plus(s)
				}
			}
			if all.none > 0 {
				m.Total, m.WithRecalls = round(all.cost/all.none), round(all.recalled/all.none)
				for i, agent := range Agents() {
					m.Against[agent.Name] = round(all.cost / all.agents[i])
				}
				m.Epochs = round(100 * float64(all.epochs) / float64(all.requests))
				m.Recalls = round(100 * float64(all.recalls) / float64(all.requests))
			}
			out = append(out, m)
		}
	}
	return out
}

// take notes a session's ratio.
func (m *Money) take(name string, s sessionMoney) {
	if s.requests == 0 || s.none == 0 {
		return
	}
	ratio := round(s.cost / s.none)
	if ratio > m.Worst {
		m.Worst, m.WorstSession = ratio, name
	}
	if s.requests >= longSession {
		m.Sessions++
		return
	}
	m.Short++
	m.ShortWorst = max(m.ShortWorst, ratio)
}

func (s sessionMoney) plus(o sessionMoney) sessionMoney {
	for i, cost := range s.agents {
		o.agents[i] += cost
	}
	return sessionMoney{
		requests: s.requests + o.requests, epochs: s.epochs + o.epochs, recalls: s.recalls + o.recalls,
		none: s.none + o.none, cost: s.cost + o.cost, recalled: s.recalled + o.recalled,
		agents: o.agents,
	}
}

func printMoney(p *term.Page, list []Money) {
	for _, first := range list {
		if first.Arm != list[0].Arm { // every arm has every price list
			break
		}
		cells := [][]string{moneyHead}
		for _, m := range list {
			if m.Prices == first.Prices {
				cells = append(cells, m.row())
			}
		}
		p.Line("\nCost against no compaction: %s (%d long sessions, %d short)", first.Prices, first.Sessions, first.Short)
		rows(p, cells)
	}
}

var moneyHead = []string{
	"arm", "total", "claude-code", "codex", "opencode", "recalled", "worst", "short", "epochs", "recalls",
}

func (m Money) row() []string {
	three := func(f float64) string { return fmt.Sprintf("%.3f", f) }
	row := []string{m.Arm, three(m.Total)}
	for _, a := range Agents() {
		row = append(row, three(m.Against[a.Name]))
	}
	return append(row, three(m.WithRecalls), three(m.Worst), three(m.ShortWorst),
		fmt.Sprintf("%.1f", m.Epochs), fmt.Sprintf("%.1f", m.Recalls))
}
