package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

const marker = `,"cache_control":{"type":"ephemeral"}`

const shellAnd = `[{"name":"bash","description":"Run.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}%s]`

func named(names ...string) string {
	var list string
	for _, n := range names {
		list += fmt.Sprintf(`,{"name":%q,"description":"The client's own.","input_schema":{"type":"object"}}`, n)
	}
	return fmt.Sprintf(shellAnd, list)
}

// A tool that the client adds later under a name of ours keeps its name and its calls; ours
// are renamed, in stubs too, and still work.
func TestClientToolComesLater(t *testing.T) {
	script := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, Limit: window})
	ask := "" // what the model calls with the next request
	seen := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ask == "" {
			script.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":9}}`, ask)
		ask = ""
	})}
	st := store.NewMemory()
	at := serve(t, seen)
	h, url := handlerAt(t, at, Options{Window: window, Store: st})
	a := newAgent(protocol.Messages, url, "Do all the steps.")
	a.streams = false
	a.turns(t, 12)
	if last := string(seen.all()[len(seen.all())-1]); !strings.Contains(last, `unfold(\"`) ||
		strings.Contains(last, "pleat_unfold") {
		t.Fatal("nothing is folded yet, or under another name")
	}
	for _, tt := range []struct{ tools, prefix string }{
		{named("unfold"), "pleat_"},
		{named("unfold", "pleat_search"), "pleat_pleat_"},
	} {
		a.tools = tt.tools
		before := len(seen.all())
		ask = `{"type":"tool_use","id":"theirs_` + tt.prefix + `","name":"unfold","input":{}}`
		reply, err := a.send()
		must(t, err)
		if calls := transcript.Unanswered(reply.Messages...); len(calls) != 1 || calls[0].Name != "unfold" {
			t.Errorf("%s: the client got the calls %v", tt.prefix, calls)
		}
		if n := len(seen.all()) - before; n != 1 {
			t.Errorf("%s: %d requests: pleat answered the client's call", tt.prefix, n)
		}
		out := seen.all()[before]
		for _, name := range []string{"unfold", tt.prefix + "unfold", tt.prefix + "compact"} {
			if n := strings.Count(string(get(out, "tools")), `"name":"`+name+`"`); n != 1 {
				t.Errorf("%s: %d tools are called %s", tt.prefix, n, name)
			}
		}
		sent := string(get(out, "messages"))
		if n := strings.Count(sent, `unfold(\"`); n == 0 || n != strings.Count(sent, " "+tt.prefix+`unfold(\"`) {
			t.Errorf("%s: stubs name another tool: %d of %d name ours", tt.prefix,
				strings.Count(sent, " "+tt.prefix+`unfold(\"`), n)
		}
		ask = `{"type":"tool_use","id":"ours_` + tt.prefix + `","name":"` + tt.prefix + `ledger","input":{}}`
		if _, err := a.step(); err != nil { // fails if the client gets the call
			t.Errorf("%s: %v", tt.prefix, err)
		}
	}
	wellBehaved(t, script.Log())
	// Another proxy on the same store writes the same.
	a.ask(t)
	one := seen.all()[len(seen.all())-1]
	written(t, h.rw)
	a.url = startAt(t, at, Options{Window: window, Store: st})
	a.ask(t)
	two := seen.all()[len(seen.all())-1]
	if plain := func(b []byte) string { return strings.ReplaceAll(string(b), marker, "") }; plain(one) != plain(two) {
		t.Error("a restarted proxy sends something else")
	}
}

// A conversation that is opened again with a tool of the client's by the name of one of ours goes on.
func TestNameTakenAfterRestart(t *testing.T) {
	st, at := store.NewMemory(), serve(t, upstreamtest.New(upstreamtest.Options{Calls: 9}))
	h := newHandler(t, &Options{Window: window, Store: st, Anthropic: at})
	a := newAgent(protocol.Messages, serve(t, h).String(), "Do all the steps.")
	a.turn(t)
	must(t, h.Close())
	reports := newReports()
	again := newHandler(t, &Options{Window: window, Store: st, Anthropic: at, Report: reports.add})
	own := recall.Tools()[0]
	tool := fmt.Sprintf(`,{"name":%q,"description":%q,"input_schema":{"type":"object"}}`, own.Name, own.Description)
	a.url, a.tools = serve(t, again).String(), fmt.Sprintf(shellAnd, tool)
	a.turn(t)
	if got := reports.wait(1)[0]; got.Err != nil {
		t.Error(got.Err)
	}
}

// Two clients of a tenant with the same first words share a session; neither finds the
// other's system prompt in it.
func TestSystemPromptIsNotFound(t *testing.T) {
	const secret = "the vault opens with heliotrope"
	for _, on := range []*protocol.Protocol{protocol.Chat, protocol.Responses} {
		st := store.NewMemory()
		h := newHandler(t, &Options{
			Store: st, OpenAI: serve(t, upstreamtest.New(upstreamtest.Options{Calls: 2})), Window: window,
		})
		url := serve(t, h).String()
		for _, system := range []string{secret, "You work."} {
			a := newAgent(on, url, "Do all the steps.")
			a.history = append([]string{`{"role":"system","content":"` + system + `"}`}, a.history...)
			a.run(t)
		}
		for _, s := range h.Sessions() {
			written(t, h.rw)
			sess, err := pleat.OpenSession(t.Context(), st, s.Key, &pleat.Options{
				Codecs: map[transcript.Format]transcript.Codec{on.Format: on.Codec},
			})
			must(t, err)
			found, err := sess.Search(t.Context(),
				recall.SearchRequest{Queries: []string{"heliotrope vault", "steps"}})
			must(t, err)
			if strings.Contains(found.Text(), secret) {
				t.Errorf("%s: session %s tells the system prompt:\n%s", on.Format, s.Key, found.Text())
			}
			if len(found.Answers[1].Hits) == 0 {
				t.Errorf("%s: search finds nothing", on.Format)
			}
		}
	}
}

// A reply is read while other requests of its conversation change the names of our tools.
// It is for the race detector.
func TestModeIsNotShared(t *testing.T) {
	script := upstreamtest.New(upstreamtest.Options{Calls: 1000})
	url := start(t, script, Options{Window: window})
	a := newAgent(protocol.Messages, url, "Do all the steps.")
	a.turns(t, 3)
	var all sync.WaitGroup
	for i := range 8 {
		b := *a
		b.history = slices.Clone(a.history)
		b.tools = named(strings.Repeat(lineage.ToolPrefix, i/2) + "unfold")
		b.say(fmt.Sprint("Go on ", i%2))
		all.Go(func() {
			for range 4 {
				req := httptest.NewRequest(http.MethodPost, url+"/v1/messages", strings.NewReader(string(b.body())))
				req.RequestURI = ""
				req.Header.Set("X-Api-Key", b.key)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	all.Wait()
	wellBehaved(t, script.Log())
}
