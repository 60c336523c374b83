package fold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/fault"
)

// A Lever proposes folds. It is a plain value: its fields are its settings. Package lever
// has pleat's own; a program can add others, which must not call the session: it waits for them.
type Lever interface {
	// Name identifies the lever in policy files, plans and folds.
	Name() string
	// Pull adds folds to the draft. It decides by itself whether there is anything to do:
	// most levers stop as soon as d.Enough() reports true. An error or a
	// panic ends the plan. A session warns, naming the lever and the place, and plans without it; errors of
	// pleat's own levers say that a block could not be read, and end the session's call.
	Pull(ctx context.Context, d *Draft) error
}

// Steps are levers in the order in which they are pulled.
type Steps []Lever

// MarshalJSON writes each step as an object with the lever's name and its settings:
// {"lever": "mask", "keep": 3}. So the settings are an object without a member of that name.
func (s Steps) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, len(s))
	for i, l := range s {
		if fault.IsNil(l) {
			return nil, fmt.Errorf("write step %d: it is nil", i+1)
		}
		var name, settings []byte
		err := fault.Of(l, func() (err error) {
			name, _ = json.Marshal(l.Name())
			if settings, err = json.Marshal(l); err != nil {
				return err
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(settings, &members); err != nil || members == nil {
				return errors.New("its settings are no JSON object")
			}
			if members["lever"] != nil {
				return errors.New(`a setting is called "lever", which stands for its name: call it otherwise`)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("write %w", err)
		}
		step := append([]byte(`{"lever":`), name...)
		if string(settings) != "{}" {
			step = append(append(step, ','), settings[1:len(settings)-1]...)
		}
		out[i] = append(step, '}')
	}
	return json.Marshal(out)
}

// Names lists the names of the levers, "nil" for a step that is nil.
func (s Steps) Names() []string {
	var names []string
	for _, l := range s {
		name := "nil"
		if !fault.IsNil(l) {
			name = l.Name()
		}
		names = append(names, name)
	}
	return names
}

// Change returns the steps with every lever of type L changed. The steps it was given
// stay as they are.
func Change[L Lever](steps Steps, change func(*L)) Steps {
	out := make(Steps, len(steps))
	for i, l := range steps {
		if own, ok := l.(L); ok {
			change(&own)
			l = own
		}
		out[i] = l
	}
	return out
}

// A Birther folds results of a message before any model has seen it. It stands at birth only:
// its Pull is not called. Where it fails, no result can be appended, not even by Session.Repair.
type Birther interface {
	Lever
	// MayFold reports whether it might fold results of these sizes in bytes. It is asked
	// for every message with results, so it must be cheap; true is always safe.
	MayFold(bytes []int, lim Limits) bool
	// Born folds results of the message.
	Born(b *Birth)
}

// A Saver folds single results, so that the engine can work out from which message on
// folding them pays. Pulled for that, it goes on where [Draft.Enough] reports true, from d.From on.
type Saver interface {
	Lever
	// Keeps returns how many of the newest results it leaves alone.
	Keeps() int
	// Saves returns how many tokens folding a result takes out of the view; 0: it would
	// not be folded.
	Saves(r Result) int
}

// An Asker folds turns into a text that a model may write.
type Asker interface {
	Lever
	// Asks returns how the model is asked.
	Asks() Ask
	// Ahead asks, with [Pages.Ask], for the text that it will need when the view has so many
	// more tokens, beside what is folded so far.
	Ahead(d *Draft, tokens int)
}

// A Fitter guarantees a view that fits. A session whose policy has one at red gives out no
// view that does not fit; without one it warns, once for what an epoch leaves and once more when
// that grows too large to be sent, and gives it out.
type Fitter interface {
	Lever
	Fits()
}

// A Checker is a lever whose settings can be wrong.
type Checker interface {
	Lever
	Check() error
}

// Ask says how a model is asked for a digest. The zero value is an ordinary request.
type Ask struct {
	Prompt  string `json:"prompt,omitempty"`  // what the model is told beyond the usual; of a summary, all of it
	Opening string `json:"opening,omitempty"` // stands before the turns in the request for a summary
	Closing string `json:"closing,omitempty"` // stands behind them; both empty: "write it now"
	// A summary is written from a JSON list of messages; else from plain text.
	JSON     bool   `json:"json,omitempty"`
	Source   int    `json:"source,omitempty"`    // characters of the conversation that it reads; 0: all
	Retries  int    `json:"retries,omitempty"`   // further tries for a broken stream or no summary; 0: none
	Breaker  int    `json:"breaker,omitempty"`   // failures in a row after which it is not asked for a while; 0: 3
	Notes    int    `json:"notes,omitempty"`     // so many tokens of new notes stand for a summary; 0: they never do
	ZeroTemp bool   `json:"zero_temp,omitempty"` // temperature 0, where the model takes one
	EndsTurn bool   `json:"ends_turn,omitempty"` // a compact call by the agent ends its turn
	Answer   string `json:"answer,omitempty"`    // to a compact call that folded something; empty: pleat's own words
	// AsIs takes the text as it came, unchecked.
	AsIs bool `json:"as_is,omitempty"`
}

// Check refuses numbers that make no sense.
func (a Ask) Check() error {
	return CheckNumbers("source, retries, breaker and notes of ask", a.Source, a.Retries, a.Breaker, a.Notes)
}

// Need is a digest that a plan would be better with.
type Need struct {
	Start, End int    // messages that it tells of
	Room       int    // tokens; 0: as many as the model gives
	Spare      int    // tokens beyond Room for which the rest of the view gives way
	Focus      string // what it should favour; empty: nothing in particular
	Ask        Ask    // how the model is asked
	In         Set    // the folds of the levers before the one that needs it
}
