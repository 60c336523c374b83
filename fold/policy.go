package fold

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Policy says what happens on each occasion: it is a program of levers. An
// occasion without steps folds nothing, unless its comment says otherwise. In every turn and
// when idle levers go as far as they can, or to the target behind lever.Aim; else they stop when the
// view is no longer red. Package policy has the policies that come with pleat.
type Policy struct {
	Name string `json:"name"`          // in lists and reports
	Doc  string `json:"doc,omitempty"` // one line for people

	// Budget fills the fields that the session's own budget leaves at zero.
	Budget Budget `json:"budget,omitzero"`
	// CharsPerToken estimates tokens from characters; 0: they are counted.
	CharsPerToken int `json:"chars_per_token,omitempty"`
	// FoldHead puts [Marks].Head right behind the system messages at the beginning, which always
	// stay: levers that go by it, as pleat's do, then fold what comes before the first answer too.
	FoldHead bool `json:"fold_head,omitempty"`
	// Transcripts is a folder that the whole transcript is written to before a digest
	// replaces it; empty: the store is enough.
	Transcripts string `json:"transcripts,omitempty"`

	AtBirth    Steps `json:"at_birth,omitempty"`     // on a new message before a model sees it; levers are [Birther]s
	EveryTurn  Steps `json:"every_turn,omitempty"`   // before every request, ahead of what else is due
	AtRed      Steps `json:"at_red,omitempty"`       // when the window forces it
	OnRefusal  Steps `json:"on_refusal,omitempty"`   // after a refusal for length; then AtRed, if it is not enough
	WhenIdle   Steps `json:"when_idle,omitempty"`    // before a request that comes after a pause of at least IdleAfter
	WhenItPays Steps `json:"when_it_pays,omitempty"` // when folding saves money; one lever is a [Saver]

	IdleAfter time.Duration `json:"-"` // written as "1h0m0s" under idle_after
	// Retries is how often a request that was refused as too long is folded by OnRefusal
	// and sent again; 0: once.
	Retries int `json:"retries,omitempty"`
}

// MarshalJSON writes the policy as a policy file; package policy reads it back.
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	idle := ""
	if p.IdleAfter > 0 {
		idle = p.IdleAfter.String()
	}
	return json.Marshal(struct {
		plain
		IdleAfter string `json:"idle_after,omitempty"`
	}{plain(p), idle})
}

// IsZero reports whether the policy says nothing at all. A session then uses the default.
func (p *Policy) IsZero() bool { return p.Name == "" && !p.folds() && p.Budget == Budget{} }

func (p *Policy) folds() bool {
	return len(p.AtBirth)+len(p.EveryTurn)+len(p.AtRed)+len(p.OnRefusal)+len(p.WhenIdle)+len(p.WhenItPays) > 0
}

// Asks returns how the first lever at red that asks a model does so.
func (p *Policy) Asks() Ask {
	for _, l := range p.AtRed {
		if a, ok := l.(Asker); ok {
			return a.Asks()
		}
	}
	return Ask{}
}

// Fits reports whether the policy guarantees that views fit.
func (p *Policy) Fits() bool {
	for _, l := range p.AtRed {
		if _, ok := l.(Fitter); ok {
			return true
		}
	}
	return false
}

// Saver returns the lever that decides where folding pays; nil: there is none.
func (p *Policy) Saver() Saver {
	for _, l := range p.WhenItPays {
		if s, ok := l.(Saver); ok {
			return s
		}
	}
	return nil
}

func (p *Policy) steps(t Trigger) Steps {
	switch t {
	case TriggerPays:
		return p.WhenItPays
	case TriggerTurn:
		return nil // which are pulled in any case
	case TriggerIdle:
		return p.WhenIdle
	case TriggerRefused:
		if len(p.OnRefusal) > 0 {
			return p.OnRefusal
		}
	}
	return p.AtRed // also when asked, and for a price tier ahead, which is crossed like red
}

// Check reports what makes no sense about the policy. The names of own, such as lever.All, belong
// to levers of their types.
func (p *Policy) Check(own ...Lever) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("policy %q: %w", p.Name, fmt.Errorf(format, args...))
	}
	if p.Name == "" {
		return wrong("it has no name")
	}
	if !p.folds() {
		return wrong("it has no steps, so it would never fold anything: " +
			"add some, or use policy.None if that is what you want")
	}
	if err := CheckNumbers("chars_per_token and retries", p.CharsPerToken, p.Retries); err != nil {
		return wrong("%w", err)
	}
	if p.IdleAfter < 0 {
		return wrong("idle_after is %s", p.IdleAfter)
	}
	if err := p.Budget.Check(); err != nil {
		return wrong("%v", err)
	}
	for _, list := range p.lists() {
		if err := list.steps.check(list.name, own); err != nil {
			return wrong("%w", err)
		}
	}
	if len(p.WhenItPays) > 0 && p.Saver() == nil {
		return wrong("no lever of when_it_pays can say what it saves")
	}
	if len(p.WhenIdle) > 0 != (p.IdleAfter > 0) {
		return wrong("when_idle and idle_after go together")
	}
	return nil
}

type stepList struct {
	name  string
	steps Steps
}

func (p *Policy) lists() []stepList {
	return []stepList{
		{"at_birth", p.AtBirth},
		{"every_turn", p.EveryTurn},
		{"at_red", p.AtRed},
		{"on_refusal", p.OnRefusal},
		{"when_idle", p.WhenIdle},
		{"when_it_pays", p.WhenItPays},
	}
}
