package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// folding starts a proxy with a small window and an agent that has been made to fold.
func folding(t *testing.T, on *protocol.Protocol, o Options) (*agent, *capture, *reports) {
	t.Helper()
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000})}
	r := newReports()
	o.Window, o.Report = window, r.add
	a := newAgent(on, start(t, up, o), "Do all the steps.")
	a.run(t)
	if list := r.wait(len(a.bodies)); !list[len(list)-1].Folded {
		t.Fatal("nothing was folded")
	}
	return a, up, r
}

// A client that goes back and asks the same again gets what it had there, byte for byte, from a fork,
// and what it says then is in no other's session.
func TestRewind(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			a, up, r := folding(t, on, Options{})
			sent := len(up.all())
			first := r.wait(sent)[0].Session

			// Back to what the 8th request was, word for word.
			b := *a
			old, _ := on.Read(a.bodies[7])
			b.history = a.history[:len(old.Messages):len(old.Messages)]
			reply, err := b.send()
			must(t, err)
			if got := up.all()[sent]; !bytes.Equal(got, up.all()[7]) {
				t.Error("the same request got other bytes the second time")
			}
			fork := r.wait(sent + 1)[sent]
			if !fork.Forked || lineage.Family(fork.Session.Session) != lineage.Family(first.Session) {
				t.Errorf("session %s, forked %t; the first was %s", fork.Session, fork.Forked, first)
			}
			// And on from there.
			if _, err := b.take(reply); err != nil {
				t.Fatal(err)
			}
			b.say("Another thing: be quick.")
			b.run(t)
			if got := r.wait(sent + 2)[sent+1].Session; got == first || lineage.Family(got.Session) != lineage.Family(first.Session) {
				t.Errorf("something else: session %s; the first was %s", got, first)
			}
			// The first one goes on where it was.
			a.say("One more.")
			a.run(t)
			list := r.wait(len(up.all()))
			if got := list[len(list)-1].Session; got != first {
				t.Errorf("the first conversation is in session %s now, was %s", got, first)
			}
			wellBehaved(t, up.to.(*upstreamtest.Server).Log())
		})
	}
}

// What was folded before a fork can be had back in the fork, by the same handle.
func TestForkKeepsHandles(t *testing.T) {
	st := store.NewMemory()
	a, up, r := folding(t, protocol.Messages, Options{Store: st})
	body := string(up.all()[len(up.all())-1])
	handle := ""
	for _, m := range regexp.MustCompile(`unfold\(\\"(\w+)\\"\)`).FindAllStringSubmatch(body, -1) {
		if m[1] != "handle" { // as the page explains it
			handle = m[1]
		}
	}
	a.history = slices.Clone(a.history[:len(a.history)-3])
	a.say("Something else.")
	a.run(t)
	list := r.wait(len(a.bodies))
	key := list[len(list)-1].Session
	if key == list[0].Session {
		t.Fatal("no fork")
	}
	unfolded := func(key store.SessionKey) string {
		s, err := pleat.OpenSession(t.Context(), st, key,
			&pleat.Options{Codecs: map[transcript.Format]transcript.Codec{transcript.FormatAnthropic: protocol.Messages.Codec}})
		must(t, err)
		u, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: handle})
		must(t, err)
		return u.Whole
	}
	if a, b := unfolded(list[0].Session), unfolded(key); a == "" || a != b {
		t.Errorf("handle %s gives %d bytes in the first session and %d in the fork", handle, len(a), len(b))
	}
}

// A client that goes back to an answer with hidden rounds, and gives its calls other
// results, gets these rounds in the fork too: thinking that came after them is bound to them.
// It does so also if another session that has the request before it is newer.
func TestForkKeepsHiddenRounds(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%t", again), func(t *testing.T) {
			st := store.NewMemory()
			up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, RecallAt: 12})}
			provider := serve(t, up)
			h, url := handlerAt(t, provider, Options{Store: st, Window: window})
			a := newAgent(protocol.Messages, url, "Do all the steps.")
			step := func() (body []byte, rounds int) {
				t.Helper()
				before := len(up.all())
				if more, err := a.step(); err != nil || !more {
					t.Fatalf("nothing was recalled: %v", err)
				}
				return up.all()[len(up.all())-1], len(up.all()) - before
			}
			asked := 0 // messages of the request that led to hidden rounds
			for rounds := 1; rounds == 1; {
				asked = len(a.history)
				_, rounds = step()
			}
			hidden := []byte(`"call_recall_1"`)
			if body, _ := step(); !bytes.Contains(body, hidden) {
				t.Fatal("the session lacks the hidden round")
			}
			other := slices.Clone(a.history[:asked+2])
			other[asked+1] = strings.Replace(other[asked+1], "line 20 value", "line twenty value", 1)
			if again {
				a.history = slices.Clone(a.history[:asked])
				step()
				written(t, h.rw)
				_, a.url = handlerAt(t, provider, Options{Store: st, Window: window})
			}
			a.history = other
			if body, _ := step(); !bytes.Contains(body, hidden) {
				t.Error("the fork lacks the hidden round")
			}
			wellBehaved(t, up.to.(*upstreamtest.Server).Log())
		})
	}
}

// A client that compacts by itself begins a new conversation; it keeps the tools that it
// had, as far as the proxy can tell that it is the same client.
func TestClientCompacts(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 3})}
	a := newAgent(protocol.Messages, start(t, up, Options{}), "Do all the steps.")
	a.header = http.Header{"X-Claude-Code-Session-Id": {"11111111"}}
	a.run(t)
	a.history = []string{
		`{"role":"user","content":"This session is being continued from a previous conversation. Summary: step-1-done."}`,
		`{"role":"assistant","content":"I go on."}`, `{"role":"user","content":"Go on."}`,
	}
	a.run(t)
	for i, body := range up.all() {
		if !bytes.Contains(body, []byte(`"name":"unfold"`)) {
			t.Errorf("request %d has no recall tools", i)
		}
	}
	// One that is first seen in its middle gets none.
	a.header = nil
	// nothing of what a model said here
	a.history = []string{strings.Replace(a.history[0], "previous", "former", 1), a.history[1], a.history[2]}
	n := len(up.all())
	a.run(t)
	if bytes.Contains(up.all()[n], []byte(`"name":"unfold"`)) {
		t.Error("recall tools were added to a conversation first seen in its middle")
	}
}

// Requests beside the conversation: without folds they pass as they are, with folds they
// get those in force, and they never change the session.
func TestBeside(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000})}
			r := newReports()
			a := newAgent(on, start(t, up, Options{Window: window, Report: r.add}), "Do all the steps.")
			title := *a
			title.tools = "none"
			if _, err := title.send(); err != nil { // a title, before anything else
				t.Fatal(err)
			}
			sameBodies(t, title.bodies, up.all())
			a.run(t)
			sent := len(up.all())
			want := r.wait(sent)[sent-1]

			summary := *a
			summary.tools = "none"
			summary.history = slices.Clone(a.history)
			summary.say("Summarize the conversation so far.")
			summary.ask(t)
			got := up.all()[sent]
			if len(got) > 4*window || bytes.Contains(got, []byte(`"unfold","description"`)) {
				t.Errorf("the summary request has %d bytes", len(got))
			}
			if got := r.wait(sent + 1)[sent]; got.Status != http.StatusOK {
				t.Errorf("status %d", got.Status)
			}
			a.say("Go on.")
			a.run(t)
			if list := r.wait(len(up.all())); list[len(list)-1].Session != want.Session {
				t.Error("the conversation was moved by a request beside it")
			}
			wellBehaved(t, up.to.(*upstreamtest.Server).Log())
		})
	}
}

// Two principals with the same words never meet.
func TestPrincipals(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 3})}
	r := newReports()
	url := start(t, up, Options{Report: r.add})
	seen := make(map[store.SessionKey]string)
	for i, key := range []string{"a", "b", "c"} {
		a := newAgent(protocol.Messages, url, "Do all the steps.")
		a.key = key
		a.run(t)
		for _, x := range r.wait((i + 1) * len(a.bodies))[i*len(a.bodies):] {
			if who := seen[x.Session]; who != "" && who != key {
				t.Errorf("session %s is of %s and %s", x.Session, who, key)
			}
			seen[x.Session] = key
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d sessions", len(seen))
	}
}

// A model that asks for recall without end is stopped; its client is told so. What it looked up is kept: any
// replica goes on from there if the client asks again.
func TestRecallWithoutEnd(t *testing.T) {
	for _, on := range protocol.Protocols {
		n := 0
		up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			call := map[*protocol.Protocol]string{
				protocol.Messages:  `{"id":"m%d","type":"message","role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t%d","name":"ledger","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":3}}`,
				protocol.Chat:      `{"id":"c%d","choices":[{"index":0,"message":{"role":"assistant","content":"I look.","tool_calls":[{"id":"t%d","type":"function","function":{"name":"ledger","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`,
				protocol.Responses: `{"id":"r%d","status":"completed","output":[{"type":"function_call","id":"fc","call_id":"t%d","name":"ledger","arguments":"{}"}],"usage":{"input_tokens":9,"output_tokens":3,"total_tokens":12}}`,
				protocol.Gemini:    `{"responseId":"g%d","candidates":[{"content":{"parts":[{"text":"I look."},{"functionCall":{"id":"t%d","name":"ledger"}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12}}`,
			}[on]
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, call, n, n)
		})}
		reports, at, st := newReports(), serve(t, up), store.NewMemory()
		a := newAgent(on, startAt(t, at, Options{Rounds: 2, Report: reports.add, Store: st}), "Hello.")
		a.streams = false
		_, err := a.send()
		var e *model.APIError
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest || !strings.Contains(e.Message, "again and again") {
			t.Errorf("the client got %v", err)
		}
		if on == protocol.Responses && e != nil && e.Code != "invalid_prompt" { // else Codex tries again
			t.Errorf("the client got the code %q", e.Code)
		}
		if got := reports.wait(1)[0].Hidden; n != 4 || got != 3 { // two that look it up, and one that says no
			t.Errorf("%d requests went out, %d rounds were answered", n, got)
		}
		a.url = startAt(t, at, Options{Rounds: 2, Store: st})
		_, _ = a.send()
		if again := up.all()[4]; !bytes.Contains(again, []byte("No more of this")) {
			t.Errorf("another replica goes on from %s", again)
		}
	}
}

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

// Nobody checks which account a request names. A shared proxy keeps tokens apart; where one person alone is, a
// renewed token goes on in the same session. On models that bind thinking no request is refused for that.
func TestNamedAccount(t *testing.T) {
	for name, tt := range map[string]struct {
		by  func(*http.Request, []byte) string
		one bool // whoever names an account speaks for it
	}{"shared": {nil, false}, "for one person": {ByAccount, true}} {
		up := &recalling{script: upstreamtest.New(upstreamtest.Options{Calls: 9, Bytes: 400, Thinking: true, Binds: true})}
		r := newReports()
		url := start(t, up, Options{Principal: tt.by, Report: r.add})
		client := func(token, prompt string) *agent {
			a := newAgent(protocol.Messages, url, prompt)
			a.model, a.key, a.streams = "claude-sonnet-5-5", "", false
			a.header = http.Header{"Authorization": {"Bearer sk-ant-oat01-" + token}, "X-Claude-Code-Session-Id": {"one"}}
			a.extra = `,"metadata":{"user_id":"{\"account_uuid\":\"acc\"}"}`
			return a
		}
		alice := client("first", "The merger with Initech is in December.")
		alice.turns(t, 3)
		alice.header.Set("Authorization", "Bearer sk-ant-oat01-second")
		alice.turns(t, 3)
		if list := r.wait(6); (list[0].Session == list[5].Session) != tt.one {
			t.Errorf("%s: with a renewed token %s became %s", name, list[0].Session, list[5].Session)
		}
		up.tool, up.input = "search", `{"queries":["merger Initech"]}`
		client("mallory", "What do you know?").turn(t)
		if strings.Contains(up.answer, "in December") != tt.one {
			t.Errorf("%s: another token's search finds %s", name, up.answer)
		}
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
			a.turns(t, 12)
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

var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// TestDroppedText: what a client says at the end of each request alone, in a message or at the end of one, and leaves
// out of the next, makes no fork; recall stays, and pages do not quote it.
func TestDroppedText(t *testing.T) {
	for _, on := range protocol.Protocols {
		for _, apart := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, apart %t", on.Format, apart), func(t *testing.T) {
				up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000})}
				r := newReports()
				a := newAgent(on, start(t, up, Options{Window: window, Report: r.add}), "Do all the steps.")
				for more := true; more; {
					b, last := *a, len(a.history)-1
					b.history = slices.Clone(a.history)
					if text := fmt.Sprintf("It is %d.", len(a.bodies)); apart {
						b.say(text)
					} else {
						all := literal.FindAllString(b.history[last], -1)
						long := slices.MaxFunc(all, func(x, y string) int { return len(x) - len(y) })
						b.history[last] = strings.Replace(b.history[last], long, long[:len(long)-1]+`\n`+text+`"`, 1)
					}
					reply, err := b.send()
					must(t, err)
					a.bodies = b.bodies
					more, err = a.take(reply)
					must(t, err)
				}
				list := r.wait(len(a.bodies))
				for i, got := range list {
					if got.Forked || got.Session != list[0].Session {
						t.Errorf("request %d: session %s, forked %t", i, got.Session, got.Forked)
					}
				}
				if !list[len(list)-1].Folded {
					t.Error("nothing was folded")
				}
				for i, body := range up.all() {
					if n := bytes.Count(body, []byte("It is ")); !bytes.Contains(body, []byte(`"unfold"`)) || n != 1 {
						t.Errorf("request %d has %d of the texts, or no tools of pleat's", i, n)
					}
				}
			})
		}
	}
}
