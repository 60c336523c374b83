package fold

import (
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Parts is what a view's tokens are made of, by pleat's own count.
type Parts struct {
	System    int `json:"system"`
	Tools     int `json:"tools"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Thinking  int `json:"thinking"`
	Calls     int `json:"calls"`
	Results   int `json:"results"`
	Other     int `json:"other"`  // images, documents, what the core does not know
	Stubs     int `json:"stubs"`  // what stands in for folded blocks and stretches
	Pins      int `json:"pins"`   // on the digest's page: goal, rules, the user's words
	Ledger    int `json:"ledger"` // on the digest's page: what was done
	Digest    int `json:"digest"` // the rest of the digest's page
}

// Total adds the parts up.
func (p Parts) Total() int {
	return p.System + p.Tools + p.User + p.Assistant + p.Thinking + p.Calls + p.Results +
		p.Other + p.Stubs + p.Pins + p.Ledger + p.Digest
}

// Sub returns what p has more than q, part by part.
func (p Parts) Sub(q Parts) Parts {
	p.add(q, -1)
	return p
}

// Add adds the parts of q.
func (p *Parts) Add(q Parts) { p.add(q, 1) }

func (p *Parts) add(q Parts, sign int) {
	p.System += sign * q.System
	p.Tools += sign * q.Tools
	p.User += sign * q.User
	p.Assistant += sign * q.Assistant
	p.Thinking += sign * q.Thinking
	p.Calls += sign * q.Calls
	p.Results += sign * q.Results
	p.Other += sign * q.Other
	p.Stubs += sign * q.Stubs
	p.Pins += sign * q.Pins
	p.Ledger += sign * q.Ledger
	p.Digest += sign * q.Digest
}

// Snapshot is the meter: how full the window is and with what. Only its parts are by pleat's own count.
type Snapshot struct {
	Parts       Parts                   `json:"parts"`
	Tokens      tokens.Reported         `json:"tokens"`      // of the view
	Whole       tokens.Reported         `json:"whole"`       // what the whole transcript would take
	Limits      Levels[tokens.Reported] `json:"limits"`      // the budget
	Utilization float64                 `json:"utilization"` // Tokens over the window
	State       State                   `json:"state"`
	Messages    int                     `json:"messages"`          // in the view
	Epoch       int                     `json:"epoch"`             // number of the epoch in force, an older one after an undo; 0: none
	Trigger     Trigger                 `json:"trigger,omitempty"` // why the newest epoch opened
}

// of is the part that a block counts towards.
func (p *Parts) of(k transcript.Kind, role transcript.Role) *int {
	switch k {
	case transcript.KindThinking:
		return &p.Thinking
	case transcript.KindToolCall:
		return &p.Calls
	case transcript.KindToolResult:
		return &p.Results
	case transcript.KindText:
		switch role {
		case transcript.RoleAssistant:
			return &p.Assistant
		case transcript.RoleSystem, transcript.RoleDeveloper:
			return &p.System
		case transcript.RoleTool:
			return &p.Results
		}
		return &p.User
	}
	return &p.Other
}
