package proxy

import (
	"fmt"
	"strings"
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

// withBlock is a message with one more block of text at its end.
func withBlock(message, text string) string {
	at := strings.LastIndex(message, "}]") + 1
	return message[:at] + fmt.Sprintf(`,{"type":"text","text":%q}`, text) + message[at:]
}

// A client that adds a block to its newest message, and leaves it out when it sends that
// message again, has one session; no result is folded before the model has seen it.
func TestTransientBlocks(t *testing.T) {
	m, _ := model.DefaultModels().Lookup("claude-fable-5-1")
	up := upstream.New(upstream.Options{Calls: 30, Bytes: 12_000, Limit: window, Model: m, Thinking: true, RecallAt: 9})
	seen := &capture{to: up}
	h, url := startHandler(t, seen, Options{Window: window})
	a := claude(url, m)
	for i := 0; ; i++ {
		a.extra = fmt.Sprintf(`,"metadata":{"n":%d}`, i)
		last := len(a.history) - 1
		whole := a.history[last]
		a.history[last] = withBlock(whole, fmt.Sprintf("%d tokens are left.", 100_000-i))
		if i%7 == 3 {
			a.history[last] = withBlock(a.history[last], "Nobody has heard from you in a while.")
		}
		reply, err := a.send()
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		a.history[last] = whole
		more, err := a.take(reply)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
	}
	wellBehaved(t, up.Log())
	if n := len(h.Sessions()); n > 2 { // the first message alone proves nothing
		t.Errorf("%d sessions for one conversation", n)
	}
	for i, body := range seen.all() {
		if step := up.Log()[i].Step; step > 0 && !strings.Contains(string(body), fmt.Sprintf("step %d line 0 value", step)) {
			t.Errorf("request %d does not show the result of step %d, which is new", i, step)
		}
	}
}
