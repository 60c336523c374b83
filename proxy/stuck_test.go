package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/wire/openai"
)

// systemMessage is a message such as Claude Code puts between the others for newer models.
const systemMessage = `{"role":"system","content":[{"type":"text","text":"The date is 2026-11-15. Be brief."}],"output_config":{"effort":"high"}}`

// claude is a client that arranges its messages as Claude Code does for a model: two blocks
// and a system message first, and a system message now and then between results and answer.
func claude(url string, m model.Model) *agent {
	a := newAgent(protocol.Messages, url, "")
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
	tried := 0
	for m := range model.DefaultModels().All() {
		if m.Provider != "anthropic" || testing.Short() && tried == 3 {
			continue
		}
		tried++
		up := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, Model: m, Thinking: true})
		a := claude(start(t, up, Options{Window: window}), m)
		a.goOn(t, m)
		a.say("And once more.")
		a.goOn(t, m)
		log := up.Log()
		wellBehaved(t, log)
		if len(log) != len(a.bodies) || !log[len(log)-1].Folded {
			t.Errorf("%s: %d requests, %d of the client; folded: %v", m.ID, len(log),
				len(a.bodies), log[len(log)-1].Folded)
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
	up := upstreamtest.New(upstreamtest.Options{
		Calls: 30, Bytes: 12_000, Limit: window, Model: m, Thinking: true, RecallAt: 9,
	})
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
		must(t, err)
		if !more {
			break
		}
	}
	wellBehaved(t, up.Log())
	if n := len(h.Sessions()); n > 2 { // the first message alone proves nothing
		t.Errorf("%d sessions for one conversation", n)
	}
	showsNew(t, seen, up)
}

// silent refuses bodies above a limit without saying how long a prompt may be, as Codex'
// provider does.
type silent struct {
	to      http.Handler
	limit   int // bytes
	refused int
}

func (s *silent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if len(body) > s.limit {
		s.refused++
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.to.ServeHTTP(w, r)
}

// A provider whose limit nobody knows, and which does not tell it, refuses twice at most,
// and sees every new result whole.
func TestRefusedWithoutNumbers(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 12_000})
		seen := &capture{to: up}
		s := &silent{to: seen, limit: 90_000}
		a := newAgent(on, start(t, s, Options{Window: 200_000}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		wellBehaved(t, up.Log())
		showsNew(t, seen, up)
		if s.refused < 1 || s.refused > 2 {
			t.Errorf("refused %d times", s.refused)
		}
	})
}

// showsNew fails the test for every request that does not show its newest result whole.
func showsNew(t *testing.T, seen *capture, up *upstreamtest.Server) {
	t.Helper()
	for i, body := range seen.all() {
		step := up.Log()[i].Step
		if whole := fmt.Sprintf("step-%d-done", step); step > 0 && !strings.Contains(string(body), whole) {
			t.Errorf("request %d does not show the result of step %d, which is new", i, step)
		}
	}
}

// What the client has never seen goes out without the ids that bind it to reasoning, which a
// later view may not show.
func TestHiddenItemsHaveNoIDs(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Calls: 30, Bytes: 12_000, Limit: window, RecallAt: 5, Thinking: true})
	seen := &capture{to: up}
	newAgent(protocol.Responses, start(t, seen, Options{Window: window}), "Do all the steps.").run(t)
	wellBehaved(t, up.Log())
	found := 0
	for _, body := range seen.all() {
		r, err := openai.DecodeResponses(body)
		must(t, err)
		for _, m := range r.Messages {
			if get([]byte(m.Raw()), "name").Text() != "unfold" {
				continue
			}
			found++
			if id := get([]byte(m.Raw()), "id").Text(); id != "" {
				t.Errorf("a hidden call has the id %q", id)
			}
		}
	}
	if found == 0 {
		t.Error("nothing was recalled")
	}
}

// A conversation whose session is deleted while the proxy has it in memory starts anew.
func TestForgottenSession(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := upstreamtest.New(upstreamtest.Options{Calls: 16, Bytes: 12_000, Limit: window})
		st := store.NewMemory()
		h, url := startHandler(t, up, Options{Window: window, Store: st})
		a := newAgent(on, url, "Do all the steps.")
		a.streams = streams
		for i := 0; ; i++ {
			more, err := a.step()
			if err != nil {
				t.Fatalf("turn %d: %v", i, err)
			}
			if !more {
				break
			}
			if i%3 == 1 {
				for _, s := range h.Sessions() {
					if err := st.Forget(t.Context(), s.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Fatal(err)
					}
				}
			}
		}
		wellBehaved(t, up.Log())
	})
}

// asker is a model that does nothing but ask for its ledger.
type asker struct{ asked int }

func (a *asker) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.asked++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q},{"type":"tool_use","id":"toolu_%[1]d","name":"ledger","input":{}}],`+
		`"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}}`, a.asked,
		strings.Repeat("What was done so far? ", 20))
}

// Where a hidden round makes a request too long, the client gets the provider's own refusal.
func TestHiddenRoundTooLong(t *testing.T) {
	late := 0
	for words := 4_100; words > 3_500; words -= 25 {
		up := &asker{}
		a := newAgent(protocol.Messages, start(t, up, Options{Window: 6_000}), "Go.")
		a.streams, a.extra = false, `,"system":"`+strings.Repeat("rule ", words)+`"`
		_, err := a.send()
		var e *model.APIError
		if !errors.As(err, &e) || strings.Contains(e.Message, "again and again") {
			continue
		}
		if e.Status != http.StatusBadRequest || !e.Overflow() {
			t.Errorf("%d words: the client got %v", words, err)
		}
		if up.asked > 0 {
			late++
		}
	}
	if late == 0 {
		t.Error("no round was too long")
	}
}

// A result without content is legal, and nothing stands in for it.
func TestEmptyResults(t *testing.T) {
	for _, p := range policy.All() {
		up := upstreamtest.New(upstreamtest.Options{Calls: 9})
		r := newReports()
		a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Policy: p, Report: r.add}), "Do all the steps.")
		a.model = "claude-sonnet-4-5"
		for i := range 8 {
			a.history = append(a.history,
				fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9x%d","name":"bash","input":{"command":"true"}}]}`, i),
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq917835lq9x%d"}]}`,
					i))
			if _, err := a.send(); err != nil {
				t.Fatalf("%s, %d results: %v", p.Name, i, err)
			}
		}
		for i, x := range r.wait(len(a.bodies)) {
			if x.Session.Session == "" {
				t.Errorf("%s: request %d was passed on as it came", p.Name, i)
			}
		}
		wellBehaved(t, up.Log())
	}
}

// A provider that says that the prompt is too long, in whatever way, is asked again with
// less; the client sees nothing of it.
func TestOverflowOnce(t *testing.T) {
	for _, how := range []string{"400", "413", "stream"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			if how == "stream" && !streams {
				t.Skip("an error inside a stream needs a stream")
			}
			up := upstreamtest.New(upstreamtest.Options{Calls: 8, Bytes: 6_000, FailAt: 5, Fail: how})
			r := newReports()
			a := newAgent(on, start(t, up, Options{Report: r.add}), "Do all the steps.")
			a.streams = streams
			a.run(t)
			wellBehaved(t, up.Log())
			retried := 0
			for _, x := range r.wait(len(a.bodies)) {
				if x.Retried {
					retried++
				}
			}
			if retried != 1 || len(up.Log()) != len(a.bodies)+1 {
				t.Errorf("%d requests retried, %d of the client, %d upstream", retried, len(a.bodies), len(up.Log()))
			}
		})
	}
}

// A provider that never has enough is asked twice; then the client gets its own words.
func TestOverflowForEver(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 8, Limit: 10})}
			a := newAgent(on, start(t, up, Options{}), "Do all the steps.")
			_, err := a.send()
			var e *model.APIError
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest || !e.Overflow() ||
				!strings.Contains(e.Message, "10") {
				t.Errorf("the client got %v", err)
			}
			if n := len(up.all()); n > 2 {
				t.Errorf("%d requests went out", n)
			}
		})
	}
}

// A request that is refused without numbers is folded and repeated once.
func TestOverflowWithoutNumbers(t *testing.T) {
	for _, name := range []string{"four-layer", "default"} {
		p, err := policy.ByName(name)
		must(t, err)
		s := &silent{to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 6_000}), limit: 1 << 20}
		epochs := 0 // for the refusal
		a := newAgent(protocol.Messages, start(t, s, Options{Policy: p, Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch && e.Plan.Trigger != fold.TriggerTurn {
				epochs++
			}
		}}), "Do all the steps.")
		a.turns(t, 8)
		s.limit = 0
		if _, err := a.send(); err == nil || s.refused != 2 || epochs != 1 {
			t.Errorf("%s: refused %d times, %d epochs: %v", name, s.refused, epochs, err)
		}
	}
}

// What cannot fit is refused in the provider's words, and nothing is sent.
func TestCannotFit(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			up, r := &capture{to: upstreamtest.New(upstreamtest.Options{})}, newReports()
			a := newAgent(on, start(t, up, Options{Window: 4_000, Report: r.add}), "Do all the steps.")
			words, _ := json.Marshal(strings.Repeat("many different words here ", 4_000))
			a.tools = strings.ReplaceAll(a.toolList(), `"Run."`, string(words))
			_, err := a.send()
			var e *model.APIError
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest || !e.Overflow() {
				t.Errorf("the client got %v", err)
			}
			if n := len(up.all()); n != 0 {
				t.Errorf("%d requests went out", n)
			}
			if err := r.wait(1)[0].Err; !errors.Is(err, fold.ErrCannotFit) {
				t.Errorf("reported as %v", err)
			}
		})
	}
}

// Other errors are the client's: they pass byte for byte, once.
func TestErrorsPass(t *testing.T) {
	for _, how := range []string{"429", "500", "529"} {
		up := upstreamtest.New(upstreamtest.Options{Calls: 4, FailAt: 2, Fail: how})
		a := newAgent(protocol.Messages, start(t, up, Options{}), "Do all the steps.")
		var failed *model.APIError
		for {
			more, err := a.step()
			if errors.As(err, &failed) {
				continue // as a client does
			}
			must(t, err)
			if !more {
				break
			}
		}
		if failed == nil || len(up.Log()) != len(a.bodies) {
			t.Errorf("%s: the client got %v; %d requests upstream, %d of the client", how, failed,
				len(up.Log()), len(a.bodies))
		}
	}
}
