package proxy

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

const summary = "The summary of the model: twelve of the steps are done, each value was right, and the others are next.\n" +
	"What is left to do: the other steps, one after the other, and then an answer that names all the values."

var escaped = strings.ReplaceAll(summary, "\n", `\n`) // for a JSON string

// recalling is a model that follows a script, sums up when it is asked to, and makes one
// call of a recall tool when it is told to. It keeps the answer to that call.
type recalling struct {
	script *upstreamtest.Server
	tool   string
	input  string
	tools  bool // the last request offered the tool unfold
	answer string
}

func (m *recalling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := (&capture{to: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	body.ServeHTTP(w, r)
	raw := string(body.bodies[0])
	m.tools = strings.Contains(raw, `"name":"unfold"`)
	say := func(content, stop string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_r","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"usage":{"input_tokens":9,"output_tokens":9}}`, content, stop)
	}
	switch at := strings.Index(raw, `"tool_use_id":"ask_`+m.tool); {
	case strings.Contains(raw, `"Sum it all up."`): // and no page says it
		say(fmt.Sprintf(`{"type":"text","text":%q}`, "<analysis>\nnothing\n</analysis>\n"+summary), "end_turn")
	case m.tool != "" && at >= 0:
		m.answer, m.tool = raw[at:], ""
		say(`{"type":"text","text":"So it is."}`, "end_turn")
	case m.tool != "":
		say(fmt.Sprintf(`{"type":"tool_use","id":"ask_%s","name":%q,"input":%s}`, m.tool, m.tool, m.input), "tool_use")
	default:
		r.Body = http.NoBody
		req, _ := http.NewRequest(r.Method, r.URL.String(), strings.NewReader(raw))
		m.script.ServeHTTP(w, req)
	}
}

var handleIn = regexp.MustCompile(`unfold\(\\?"([a-z0-9]{8})\\?"\)`)

// After the client's own compaction the new conversation is of one lineage with the old one
// where the principal is the same and something proves it; then handles, search and ledger
// reach back, also for another proxy, and over two compactions. Where the new one has the summary, or
// messages of the old one, it begins with a page of that.
func TestHandlesAfterCompaction(t *testing.T) {
	id := http.Header{"X-Claude-Code-Session-Id": {"one"}}
	other := http.Header{"X-Claude-Code-Session-Id": {"two"}}
	for _, tt := range []struct {
		name          string
		before, after http.Header
		key           string // of the new conversation
		begin         func(old *agent) []string
		reaches       bool
		tools         bool // whether ours are offered
	}{
		{"the client's name", id, id, "key", begun("Go on."), true, true},
		{
			"the summary", nil, nil, "key", begun("This goes on from here:\\n<summary>\\n" + escaped + "\\n</summary>"),
			true,
			true,
		},
		{"the summary, answered", nil, nil, "key", func(*agent) []string {
			return []string{said("user", "What did we do so far?"), said("assistant", escaped), said("user", "Go on.")}
		}, true, true},
		{"messages that were kept", nil, nil, "key", func(old *agent) []string {
			return append([]string{said("user", "It was compacted by a program.")}, old.history[len(old.history)-4:]...)
		}, true, true},
		{"the same first words", nil, nil, "key", begun("Do all the steps."), false, true},
		{"the same first words, answered", nil, nil, "key", func(*agent) []string {
			return []string{
				said("user", "Do all the steps, please."), said("assistant", "Which?"), said("user", "Go on."),
			}
		}, false, false},
		{
			"a line that the answer had, too", nil, nil, "key",
			begun("Do as it says: " + strings.Split(escaped, "\\n")[1]), false, true,
		},
		{"a line of the summary", nil, nil, "key", begun(strings.Split(escaped, "\\n")[1]), false, true},
		{"another name", id, other, "key", begun("Go on."), false, true},
		{"the client's name, another principal", id, id, "key2", begun("Go on."), false, true},
		{"the summary, another principal", nil, nil, "key2", begun(escaped), false, true},
		{"messages that were kept, another principal", nil, nil, "key2", func(old *agent) []string {
			return append([]string{said("user", "It was compacted by a program.")}, old.history[len(old.history)-4:]...)
		}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &recalling{script: upstreamtest.New(upstreamtest.Options{Calls: 100, Bytes: 12_000, Limit: window})}
			seen := &capture{to: m}
			at, st := serve(t, seen), store.NewMemory()
			h := newHandler(t, &Options{Window: window, Store: st, Anthropic: at})
			a := newAgent(protocol.Messages, serve(t, h).String(), "Do all the steps.")
			a.streams, a.header = false, tt.before
			for range 12 {
				a.turn(t)
			}
			handle := handleIn.FindStringSubmatch(string(seen.all()[11]))
			if handle == nil {
				t.Fatal("nothing is folded")
			}
			sum := *a
			sum.history = append([]string(nil), a.history...)
			sum.say("Sum it all up.")
			if tt.name == "the summary" {
				sum.tools = "none"
			}
			sum.ask(t)
			if err := h.Close(); err != nil { // everything is written
				t.Fatal(err)
			}
			before := len(seen.all())
			n := newAgent(protocol.Messages, startAt(t, at, Options{Window: window, Store: st}), "")
			n.streams, n.header, n.key, n.history = false, tt.after, tt.key, tt.begin(a)
			for range 2 { // the second time it compacts the compacted one
				for _, call := range []struct{ tool, input, want string }{
					{"unfold", fmt.Sprintf(`{"handle":%q,"pattern":"line 13 value"}`, handle[1]), "line 13 value"},
					{"search", `{"query":"step 3 line 13 value"}`, "step 3 line 13 value"},
					{"ledger", `{}`, "step 2 line"},
				} {
					m.tool, m.input, m.answer = call.tool, call.input, ""
					b := *n
					if _, err := b.send(); err != nil && tt.tools {
						t.Fatal(err)
					}
					if m.tools != tt.tools {
						t.Fatalf("recall tools are offered: %t", m.tools)
					}
					_, before, _ := strings.Cut(m.answer, "[before the conversation was compacted:]")
					if strings.Contains(before, "you can see it") {
						t.Errorf("the model is told that it sees what the client has cut: %s", before)
					}
					if got := strings.Contains(m.answer, call.want); got != tt.reaches &&
						(tt.reaches || call.tool == "unfold") {
						t.Errorf("%s answers %.600s", call.tool, m.answer)
					}
					n.history = append(b.history, said("assistant", "So it is."),
						said("user", "And then, after "+call.tool+"?"))
				}
				for _, body := range seen.all()[before:] {
					page := strings.Split(string(body), "[pleat: the client has compacted this conversation.")
					want := tt.reaches && tt.before == nil
					if (len(page) == 2) != want || want && !strings.Contains(page[1], "Do all the steps.") {
						t.Errorf("it has %d pages:\n%s", len(page)-1, body)
					}
				}
				if tt.after == nil || !tt.reaches {
					return
				}
				n.history = []string{said("user", "Compacted again.")}
			}
		})
	}
}

func said(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":"%s"}`, role, text) }

func begun(text string) func(*agent) []string {
	return func(*agent) []string { return []string{said("user", text)} }
}
