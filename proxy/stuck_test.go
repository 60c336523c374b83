package proxy

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/upstream"
	"github.com/pleat-dev/pleat/model"
)

// systemMessage is a message such as Claude Code puts between the others for newer models.
const systemMessage = `{"role":"system","content":[{"type":"text","text":"The date is 2026-11-15. Be brief."}],"output_config":{"effort":"high"}}`

// claude is a client that arranges its messages as Claude Code does for a model: two blocks
// and a system message first, and a system message now and then between results and answer.
func claude(url string, m model.Model) *agent {
	a := newAgent(messages, url, "")
	a.model = m.ID
	a.history = []string{`{"role":"user","content":[{"type":"text","text":"<system-reminder>Be careful.</system-reminder>"},{"type":"text","text":"Do all the steps."}]}`}
	if m.Accepts.SystemMessages {
		a.history = append(a.history, systemMessage)
	}
	return a
}

// goOn takes the steps of a script, with a system message after every fifth.
func (a *agent) goOn(t *testing.T, m model.Model) {
	t.Helper()
	for i := 1; ; i++ {
		more, err := a.step()
		if err != nil {
			t.Fatalf("%s, turn %d: %v", m.ID, i, err)
		}
		if !more {
			return
		}
		if i%5 == 0 && m.Accepts.SystemMessages {
			a.history = append(a.history, systemMessage)
		}
	}
}

// For every model of the table, a conversation of many times the window ends well, also when
// it goes on after its end.
func TestEveryModel(t *testing.T) {
	for m := range model.DefaultModels().All() {
		if m.Provider != "anthropic" {
			continue
		}
		up := upstream.New(upstream.Options{Calls: 14, Bytes: 12_000, Limit: window, Model: m, Thinking: true})
		a := claude(start(t, up, Options{Window: window}), m)
		a.goOn(t, m)
		a.say("And once more.")
		a.goOn(t, m)
		log := up.Log()
		wellBehaved(t, log)
		if len(log) != len(a.bodies) || !log[len(log)-1].Folded {
			t.Errorf("%s: %d requests, %d of the client; folded: %v", m.ID, len(log), len(a.bodies), log[len(log)-1].Folded)
		}
	}
}
