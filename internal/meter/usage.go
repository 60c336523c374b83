package meter

import (
	"cmp"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Usage is what is stored of a request's usage, or of its refusal. Fields may be added, names and meanings
// stay.
type Usage struct {
	Usage     model.Usage     `json:"usage"`
	Model     string          `json:"model,omitempty"` // that the prompt was for: another has other limits
	Estimated int             `json:"estimated"`       // our count of the same prompt
	USD       float64         `json:"usd,omitempty"`
	Limit     tokens.Reported `json:"limit,omitempty"` // the prompt was refused: the most that the provider takes
	// This much was refused, and Limit is a guess: the provider gave none.
	Refused tokens.Reported `json:"refused,omitempty"`
}

// Sent says that a view was given out.
func (m *Meter) Sent(view int) { m.sent = view }

// LastSent is the view that was given out last. Of a restored session that is not known; then it is
// taken to be the view as it is now.
func (m *Meter) LastSent(now int) int { return cmp.Or(m.sent, now) }

// HasSent reports whether a view was given out.
func (m *Meter) HasSent() bool { return m.sent > 0 }

// UsageOf is what to store of a request with the last view. It changes nothing: see [Meter.Take].
func (m *Meter) UsageOf(u model.Usage, view int) Usage {
	usd, _ := m.model.Cost(u)
	return Usage{Usage: u, Model: m.model.ID, Estimated: m.LastSent(view), USD: usd}
}

// Spend adds what something else has cost.
func (m *Meter) Spend(usd float64) { m.usd += usd }

// Spent is what the requests so far have cost, in USD.
func (m *Meter) Spent() float64 { return m.usd }

// Take takes in what was stored of a request.
func (m *Meter) Take(u Usage) {
	m.usd += u.USD
	if u.Model != m.model.ID {
		return
	}
	prompt := tokens.Reported(u.Usage.Prompt())
	plausible := m.line.Observe(u.Estimated, prompt)
	switch {
	case u.Limit > 0:
		m.most, m.guessedFrom = u.Limit, u.Refused
		m.lastRefused = cmp.Or(tokens.Reported(u.Usage.Input), m.lastRefused)
		if u.Refused == 0 {
			m.taken = u.Limit
		}
	case u.Refused == 0 && plausible:
		m.took(prompt)
	}
}

// Answered says that a view of that many tokens was answered. Where usage is reported, that tells more.
func (m *Meter) Answered(view int) {
	if m.line.Samples() == 0 {
		m.took(tokens.Reported(view))
	}
}

func (m *Meter) took(n tokens.Reported) {
	m.taken = max(m.taken, n)
	if m.most > 0 {
		m.most = max(m.most, n)
	}
}

// Bequeath returns what a fork has to be told of what the provider takes, if that is known.
func (m *Meter) Bequeath() (u Usage, known bool) {
	return Usage{Model: m.model.ID, Limit: m.most, Refused: m.guessedFrom}, m.most > 0
}

// Knows reports whether the meter has been told the same.
func (m *Meter) Knows(u Usage) bool { return m.most == u.Limit }

// Refusal is what a view that the provider refused teaches.
type Refusal struct {
	Told  bool  // the provider gave numbers
	Learn Usage // what to store; only if Told

	limit int // how many tokens a view should have
	sure  int // from here on it would surely be refused again
	bytes bool
	view  int
}

// ReadRefusal reads a refusal of a view; nil if nothing is known of it. It changes nothing: see [Meter.Take].
func (m *Meter) ReadRefusal(e *model.APIError, view int) Refusal {
	r := Refusal{limit: view * 2 / 3, sure: nearly(view), view: view}
	if e == nil {
		return r
	}
	r.bytes = e.Kind == model.ErrorTooLarge
	used, room := tokens.Reported(e.Used), tokens.Reported(e.Limit-e.Output) // for the prompt
	if r.bytes || used > 0 && used == m.lastRefused || used <= 0 && room <= 0 && e.Over <= 0 {
		return r // there are none, or they are bytes, or those of a view before
	}
	r.Told, r.limit = true, r.sure
	switch {
	case used > room && room > 0:
		r.sure = int(float64(view) * float64(room) / float64(used))
	case e.Over > 0:
		r.sure = m.own(m.Reported(view) - tokens.Reported(e.Over))
	}
	r.limit = min(r.limit, r.sure)
	u := Usage{
		Usage: model.Usage{Input: e.Used}, Model: m.model.ID, Estimated: m.LastSent(view), Limit: max(room, 0),
	}
	if e.Output > 0 { // another request may ask for a shorter answer
		u.Limit = max(u.Limit, m.taken)
	}
	switch {
	case room > 0 && used <= 0 && m.Reported(view) <= room:
		u.Usage.Input = int(room) + 1 // at least, or it would not be refused
	case room <= 0: // it said how large the prompt was, or by how much too large: the limit is a guess
		u.Refused = cmp.Or(max(used, 0), m.Reported(view))
		u.Limit = max(min(m.Reported(r.limit), nearly(u.Refused)), m.taken, 1)
	}
	r.Learn = u
	return r
}

// Retry returns the levels of the view after a refusal, and the size from which it is surely refused. Call it
// when what the refusal teaches has been taken in.
func (m *Meter) Retry(r Refusal) (l fold.Limits, sure int) {
	l, sure = m.Limits(), r.sure
	if r.Told || m.most > 0 && m.guessedFrom == 0 { // it said, now or before, how many it takes
		sure = min(sure, l.Max)
	}
	l.Max = min(l.Max, r.limit)
	l.Red, l.Target = min(l.Red, l.Max), min(l.Target, l.Max*3/4)
	return l, sure
}

// GuessOf returns what to store after a refusal without numbers, when the retry has so many tokens. There is
// nothing to guess if the provider gave numbers, or refused the bytes of a request.
func (m *Meter) GuessOf(r Refusal, retry int) (u Usage, ok bool) {
	if r.Told || r.bytes {
		return Usage{}, false
	}
	most := max(m.Reported(max(r.limit, retry)), m.taken)
	for m.own(most) < retry {
		most++ // rounding must not forbid the view that was just made
	}
	return Usage{Model: m.model.ID, Limit: most, Refused: m.Reported(r.view)}, true
}
