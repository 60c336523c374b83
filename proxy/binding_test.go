package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// bound refuses thinking of another conversation, unless it may drop it.
type bound struct {
	capture
	refused int
}

func (b *bound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if strings.Contains(string(body), `"signature":"elsewhere"`) && !strings.Contains(string(body), `"drop_block"`) {
		b.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: This thinking block is bound to a different conversation"}}`)
		return
	}
	b.capture.ServeHTTP(w, r)
}

// A client that compacts by itself may keep thinking that is bound to what it cut. The
// provider refuses that once: it is remembered, also in hidden rounds, for requests beside the
// conversation, and by a proxy that is started again.
func TestThinkingThatTheClientKept(t *testing.T) {
	for _, streams := range []bool{true, false} {
		up := &bound{
			capture: capture{
				to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 400, RecallAt: 6, Thinking: true}),
			},
		}
		at, st := serve(t, up), store.NewMemory()
		h, url := handlerAt(t, at, Options{Store: st})
		old := newAgent(protocol.Messages, url, "Do all the steps.")
		old.streams, old.model, old.header = streams, "claude-opus-5-5", http.Header{
			"X-Claude-Code-Session-Id": {"one"},
		}
		old.extra = `,"thinking":{"type":"adaptive"}`
		old.turns(t, 2)
		a := *old
		a.history = []string{
			said("user", "This session is being continued from a previous conversation."),
			`{"role":"assistant","content":[{"type":"thinking","thinking":"So be it.","signature":"elsewhere"},{"type":"text","text":"Step 2 is done."}]}`,
			said("user", "Go on: step-2-done"),
		}
		a.turns(t, 5)
		beside := a
		beside.tools = "none"
		if _, err := beside.send(); err != nil {
			t.Errorf("a request beside the conversation: %v", err)
		}
		written(t, h.rw)
		a.url = startAt(t, at, Options{Store: st})
		a.run(t)
		log := up.to.(*upstreamtest.Server).Log()
		recalled := ""
		for _, x := range log {
			recalled += x.Recalled
		}
		if up.refused != 1 || recalled == "" {
			t.Errorf("streams %t: %d requests were refused, recalled %q", streams, up.refused, recalled)
		}
		if log[len(log)-1].Folded {
			t.Error("something was folded: the test shows nothing")
		}
	}
}

// A fold in the middle of a run leaves no thinking that the provider refuses, also where the
// request does not say how to think, or in a way that has no place to ask for it to be dropped.
func TestThinkingUnasked(t *testing.T) {
	for _, extra := range []string{"", `,"thinking":{"type":"between_tools"}`, `,"thinking":{"type":"adaptive"}`} {
		up := upstreamtest.New(upstreamtest.Options{
			Calls: 16, Bytes: 12_000, Limit: window, Thinking: true, Binds: true,
		})
		a := newAgent(protocol.Messages, start(t, up, Options{Window: window}), "Do all the steps.")
		a.model, a.extra = "claude-sonnet-5-5", extra
		a.run(t)
		log := up.Log()
		wellBehaved(t, log)
		folded := false
		for _, x := range log {
			if folded = folded || x.Folded; x.Status != http.StatusOK {
				t.Errorf("%q: status %d", extra, x.Status)
			}
		}
		if !folded {
			t.Errorf("%q: nothing was folded", extra)
		}
	}
}

// Words beside results begin no turn: the answer that the results belong to keeps its thinking.
func TestThinkingBesideWords(t *testing.T) {
	script := upstreamtest.New(upstreamtest.Options{Calls: 16, Bytes: 12_000, Limit: window, Thinking: true, Binds: true})
	up := &capture{to: script}
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window}), "Do all the steps.")
	a.model, a.extra = "claude-sonnet-5-5", `,"thinking":{"type":"adaptive"}`
	for a.turn(t) {
		a.say("And be quick.")
	}
	unrefused(t, script)
	for i, body := range up.all()[1:] {
		r, err := protocol.Messages.Read(body)
		must(t, err)
		at := slices.IndexFunc(r.Messages, func(m transcript.Message) bool { return m.Raw() == a.history[3*i+1] })
		if at < 0 {
			t.Errorf("request %d lacks the newest answer as it was", i+1)
		}
	}
}

// thinker is an agent on a model that binds thinking, up to a request for which an epoch opened.
func thinker(
	t *testing.T, up *upstreamtest.Server, st store.Store, thinking string,
) (*agent, *url.URL, *Handler) {
	t.Helper()
	at, r := serve(t, up), newReports()
	h, url := handlerAt(t, at, Options{Store: st, Window: window, Report: r.add})
	a := newAgent(protocol.Messages, url, "Do all the steps.")
	a.model, a.extra = "claude-sonnet-5-5", `,"thinking":{"type":"`+thinking+`"}`
	for {
		if more, err := a.step(); err != nil || !more {
			t.Fatalf("no epoch opened: %v", err)
		}
		if r.wait(len(a.bodies))[len(a.bodies)-1].Epochs > 0 {
			written(t, h.rw)
			return a, at, h
		}
	}
}

var thought = regexp.MustCompile(`\{[^{}]*"type":"thinking"\},`)

// unthink leaves out the thinking of a message.
func (a *agent) unthink(t *testing.T, at int) {
	t.Helper()
	was := a.history[at]
	if a.history[at] = thought.ReplaceAllString(was, ""); a.history[at] == was {
		t.Fatalf("no thinking in %s", was)
	}
}

// unrefused fails the test if the provider refused a request.
func unrefused(t *testing.T, up *upstreamtest.Server) {
	t.Helper()
	wellBehaved(t, up.Log())
	for i, x := range up.Log() {
		if x.Status != http.StatusOK {
			t.Errorf("request %d got status %d", i, x.Status)
		}
	}
}

// A proxy that is killed may leave an epoch as the newest entry of a session. A fork at that
// request has the epoch: the answer to it was made behind those folds.
func TestForkAtEpoch(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Calls: 16, Bytes: 12_000, Binds: true})
	whole, st := store.NewMemory(), store.NewMemory()
	a, at, h := thinker(t, up, whole, "adaptive")
	for _, s := range h.Sessions() {
		var entries []store.Entry
		epoch := 0
		for e, err := range whole.Scan(t.Context(), s.Key, 1) {
			if err == nil && e.BodySize > 0 {
				e.Body, err = whole.Body(t.Context(), s.Key, e.BodyHash)
			}
			must(t, err)
			if entries = append(entries, e); e.Kind == store.EntryEpoch {
				epoch = len(entries)
			}
		}
		if _, err := st.Append(t.Context(), s.Key, 0, entries[:epoch]...); err != nil {
			t.Fatal(err)
		}
	}
	a.url = startAt(t, at, Options{Store: st, Window: 10 * window}) // so that nothing more has to be folded
	b := *a
	b.history = slices.Clone(a.history)
	b.history[len(b.history)-1] = strings.Replace(b.history[len(b.history)-1], "line 20 value", "line twenty value", 1)
	for _, branch := range []*agent{a, &b} {
		branch.turn(t)
	}
	unrefused(t, up)
}

// A client may leave out thinking of old answers. The fork that it gets begins before the folds
// behind which its newer thinking was made, and asks the provider to drop that, or leaves it out;
// so does a fork of the fork, also after a restart.
func TestForkUnbinds(t *testing.T) {
	for _, thinking := range []string{"adaptive", "between_tools"} {
		up, st := upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 12_000, Binds: true}), store.NewMemory()
		a, at, h := thinker(t, up, st, thinking)
		for _, answer := range []int{3, 1} {
			a.turn(t)
			a.unthink(t, answer)
			if _, err := a.step(); err != nil {
				t.Fatalf("%s, without the thinking of message %d: %v", thinking, answer, err)
			}
			written(t, h.rw)
			h, a.url = handlerAt(t, at, Options{Store: st, Window: window})
		}
		a.run(t)
		unrefused(t, up)
	}
}

// An answer with hidden rounds is known again without its thinking: the conversation goes on in its
// session, whatever came after it.
func TestUnthinkHiddenRound(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, RecallAt: 8, Binds: true})
	r := newReports()
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Report: r.add}), "Do all the steps.")
	a.model, a.extra = "claude-opus-5-5", `,"thinking":{"type":"adaptive"}`
	answer := 0
	for answer == 0 || len(a.history) < answer+6 {
		before := len(a.history)
		if more, err := a.step(); err != nil || !more {
			t.Fatalf("nothing was recalled: %v", err)
		}
		if r.wait(len(a.bodies))[len(a.bodies)-1].Hidden > 0 {
			answer = before
		}
	}
	a.unthink(t, answer)
	a.turns(t, 2)
	unrefused(t, up)
	list := r.wait(len(a.bodies))
	if list[len(list)-1].Forked || list[len(list)-1].Session != list[0].Session {
		t.Error("the conversation has another session")
	}
}

// Reasoning stands before the call that it led to, though the client has not seen that one, also where the
// client changes what it said before, or begins anew with a summary of that.
func TestReasoningBeforeItsOwnCall(t *testing.T) {
	for name, change := range map[string]func(history []string) []string{
		"goes on": func(h []string) []string { return h },
		"edits":   func(h []string) []string { return append([]string{said("user", "Do half of the steps.")}, h[1:]...) },
		"compacts": func(h []string) []string {
			return append([]string{
				said("user", "Do the steps."), said("assistant", "A summary."), said("user", "Go on."),
			}, h[1:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var last []string
			n := 0
			up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				req, err := protocol.Responses.Read(body)
				if err != nil {
					t.Error(err)
				}
				last = nil
				for _, m := range req.Messages {
					last = append(last, get([]byte(m.Raw()), "id").Text()+get([]byte(m.Raw()), "call_id").Text())
				}
				output := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`
				if n++; n == 1 {
					output = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"secret"},` +
						`{"type":"function_call","call_id":"own","name":"ledger","arguments":"{}"},` +
						`{"type":"function_call","call_id":"theirs","name":"bash","arguments":"{}"}`
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"id":"r","object":"response","status":"completed","output":[` + output + `]}`))
			})
			a := newAgent(protocol.Responses, start(t, up, Options{Window: window}), "Do all the steps.")
			a.streams = false
			a.turn(t)
			a.history = change(a.history)
			for range 2 {
				a.ask(t)
				want := []string{"rs_1", "own", "theirs", "own", "theirs"}
				if got := slices.DeleteFunc(last, func(id string) bool { return id == "" }); !slices.Equal(got, want) {
					t.Errorf("the view has the items %s, not %s", got, want)
				}
				a.history = append(a.history, said("assistant", "Done."), said("user", "Again."))
			}
		})
	}
}

// promptCache is a provider's cache that keeps prompts up to markers and finds them at
// most twenty blocks before one.
type promptCache map[transcript.Hash]bool

// take sends it a request and returns how many of its messages are read from the cache.
// Without marks of the proxy only the automatic one counts.
func (c promptCache) take(t *testing.T, body []byte, all bool) (found, markers int) {
	t.Helper()
	r, err := anthropic.Decode(body)
	must(t, err)
	// the head of a test does not change otherwise
	prefixes := []transcript.Hash{transcript.HashOf(fmt.Sprint(len(r.System), len(r.Tools)))}
	for _, m := range r.Messages {
		h := anthropic.MessageHash([]byte(m.Raw()))
		prefixes = append(prefixes, transcript.HashOf(prefixes[len(prefixes)-1].String()+h.String()))
	}
	var places []int
	for _, m := range r.Markers() {
		place := len(r.Messages)
		if m.Path != "" {
			if !all {
				continue
			}
			n, err := strconv.Atoi(strings.Split(m.Path, ".")[1])
			if err != nil || !strings.HasPrefix(m.Path, "messages.") {
				t.Fatalf("there is a marker at %q", m.Path)
			}
			place = n + 1
		}
		places = append(places, place)
	}
	for _, p := range places {
		for n, blocks := p, 0; n > 0 && blocks <= 20; n-- {
			if c[prefixes[n]] {
				found = max(found, n)
				break
			}
			blocks += r.Messages[n-1].Blocks().Len()
		}
	}
	for _, p := range places {
		c[prefixes[p]] = true
	}
	return found, len(places)
}

// Where the client has its prompts cached, what a fold leaves as it was is read from the
// cache: without another marker the end of the request finds nothing of it.
func TestMarkerAtFold(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 4_000})}
	masks := policy.Default() // a page would leave nothing of the cache to find
	masks.AtRed = fold.Change(masks.AtRed, func(g *lever.Digest) { g.Spare = 0 })
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Now: clock(), Policy: masks}), "Do all the steps.")
	a.extra = `,"cache_control":{"type":"ephemeral"}`
	a.run(t)
	with, without := promptCache{}, promptCache{}
	read, alone, marked := 0, 0, 0
	for i, body := range up.all() {
		n, markers := with.take(t, body, true)
		m, _ := without.take(t, body, false)
		if read, alone = read+n, alone+m; markers > 1 {
			marked++
		}
		if markers > 2 || i < 3 && markers > 1 {
			t.Errorf("request %d has %d markers", i, markers)
		}
	}
	t.Logf("%d requests, %d with a marker of the proxy: %d messages from the cache, %d without", len(up.all()), marked,
		read, alone)
	if marked == 0 || read <= alone {
		t.Errorf("the markers of %d requests found %d messages, those of the client alone %d", marked, read, alone)
	}

	plain := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 4_000})}
	b := newAgent(protocol.Messages, start(t, plain, Options{Window: window, Now: clock()}), "Do all the steps.")
	b.run(t)
	for i, body := range plain.all() {
		if strings.Contains(string(body), "cache_control") {
			t.Fatalf("request %d of a client that caches nothing has a marker", i)
		}
	}
}
