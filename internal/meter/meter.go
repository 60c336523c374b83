// Package meter tells how full a model's window is. A [Meter] learns from what the provider reports and
// refuses how its tokens follow from pleat's own count and how large a prompt it takes, and is the one
// place that turns one kind of tokens into the other.
package meter

import (
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Meter measures the views of one session. It changes as usage is taken in, live and restored.
type Meter struct {
	line   Line
	model  model.Model // what is reported of a prompt for another one does not count
	budget fold.Levels[tokens.Reported]
	usd    float64

	sent        int             // the last view that was given out; 0: none yet
	most        tokens.Reported // the largest prompt that the provider takes; 0 if it has not said so
	guessedFrom tokens.Reported // the refused prompt that most is guessed from; 0 if most is not a guess
	taken       tokens.Reported // the largest that it has answered, or said that it takes; 0 if unknown
	lastRefused tokens.Reported // the newest that it refused; 0 if it gave no number
}

// New returns the meter of a session that has seen nothing yet.
func New(m model.Model, b fold.Budget) *Meter { return &Meter{model: m, budget: b.Reported()} }

// SetBudget changes the budget. A guess is forgotten, and so is the size that the provider takes if the
// window that was given, 0 if none was, is larger.
func (m *Meter) SetBudget(b fold.Budget, given int) {
	m.budget = b.Reported()
	if m.guessedFrom > 0 || tokens.Reported(given) > m.most {
		m.most, m.guessedFrom = 0, 0
	}
}

// Window is the window of the budget.
func (m *Meter) Window() int { return int(m.budget.Window) }

// Reported is what the provider would report for a prompt of n tokens by pleat's own count.
func (m *Meter) Reported(n int) tokens.Reported { return m.line.Correct(n) }

// own is the reverse of Reported.
func (m *Meter) own(n tokens.Reported) int { return m.line.Estimate(n) }

func (m *Meter) ownLevels(l fold.Levels[tokens.Reported]) fold.Limits {
	return fold.Convert(l, func(n tokens.Reported) int {
		return max(m.own(n), int(n)/8, 1) // less is no estimate, but a false report
	})
}

// levels are the budget's, lowered if the provider said that it takes less.
func (m *Meter) levels() fold.Levels[tokens.Reported] {
	l := m.budget
	if m.most <= 0 || m.most >= l.Max {
		return l
	}
	low := fold.Convert(l, func(n tokens.Reported) tokens.Reported {
		return max(tokens.Reported(float64(n)*float64(m.most)/float64(l.Max)), 1)
	})
	low.Max = m.most
	low.Target = max(low.Target, min(l.Target, low.Max/2)) // half of a small window is as good as a part of a large one
	return low
}

// Limits are the levels of the next view.
func (m *Meter) Limits() fold.Limits { return m.ownLevels(m.levels()) }

// BirthLimits are those by which a result is too large to be shown at all. A refusal does not
// change them: where less room is left, a result that nobody has seen goes last.
func (m *Meter) BirthLimits() fold.Limits { return m.ownLevels(m.budget) }

// Sure is the size from which a view is surely refused, while the largest is a guess; 0: it is none.
func (m *Meter) Sure() int {
	if m.guessedFrom == 0 {
		return 0
	}
	l := m.budget
	l.Max = min(l.Max, nearly(m.guessedFrom))
	return m.ownLevels(l).Max
}

// Most is the largest view that may be sent.
func (m *Meter) Most() int { return max(m.Limits().Max, m.Sure()) }

// nearly is a size that is taken to be refused because n was.
func nearly[T ~int](n T) T { return n * 9 / 10 }

// Snapshot reads the meter for a view and for the whole transcript.
func (m *Meter) Snapshot(view fold.Parts, whole int) fold.Snapshot {
	l := m.levels()
	s := fold.Snapshot{Parts: view, Tokens: m.Reported(view.Total()), Whole: m.Reported(whole), Limits: l}
	s.Utilization, s.State = float64(s.Tokens)/float64(l.Window), l.State(s.Tokens)
	return s
}

// Warning says that a plan leaves the view larger than it should be; empty: it does not.
func (m *Meter) Warning(p *fold.Plan) string {
	l := m.levels()
	if p.Trigger == fold.TriggerRefused {
		l.Max = m.Reported(p.Limits.Max)
	}
	return l.Warning(m.Reported(p.After), p.Trigger)
}

// Bound says what bounds a view if it is not the budget; empty: it is.
func (m *Meter) Bound() string {
	n := text.Thousands[tokens.Reported]
	switch {
	case m.most == 0 || m.most >= m.budget.Max:
		return ""
	case m.guessedFrom == 0:
		return fmt.Sprintf("The provider said that it takes %s tokens, by its count; "+
			"SetBudget with a larger Window overrules it", n(m.most))
	}
	return fmt.Sprintf("The provider refused %s tokens without saying how many it takes: "+
		"this bound is a guess, which SetBudget forgets", n(m.guessedFrom))
}

// Rates are the prices of a view of that many tokens, beside each other.
func (m *Meter) Rates(view int) model.Rates {
	p, ok := m.model.PriceAt(int(m.Reported(view)))
	if !ok || p.Input == 0 {
		return model.DefaultRates
	}
	return model.Rates{Write: max(p.CacheWrite, p.Input) / p.Input, Read: p.CacheRead / p.Input}
}

// Cliff reports whether a view is about to cross into a dearer price tier, which would reprice the whole
// request, and the size to fold to that stays below it.
func (m *Meter) Cliff(view int, l fold.Limits) (target int, near bool) {
	for _, p := range m.model.Prices {
		edge := m.own(tokens.Reported(p.Above))
		if p.Above > 0 && view > edge*95/100 && edge < l.Red {
			return min(l.Target, edge*8/10), true
		}
	}
	return l.Target, false
}
