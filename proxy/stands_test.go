package proxy

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// A provider's memory of earlier turns, changes of tools and settings, and instructions that a
// client gave midway are in every view, whatever is folded.
func TestStands(t *testing.T) {
	const tool = `{"name":"deploy","description":"d","input_schema":{"type":"object"}}`
	for _, tt := range []struct {
		on    *protocol.Protocol
		model string
		items []string
	}{
		{protocol.Messages, "claude-opus-5-5", []string{
			`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":` +
				tool + `}}]}`,
			`{"role":"system","content":[],"output_config":{"effort":"low"}}`,
			`{"role":"system","content":[{"type":"text","text":"Never touch production."}]}`,
		}},
		{protocol.Messages, "small-model", nil},
		{protocol.Chat, "small-model", []string{`{"role":"developer","content":"Never touch production."}`}},
		{protocol.Responses, "small-model", []string{
			`{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA"}`,
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"Never touch production."}]}`,
			`{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"deploy","parameters":{"type":"object"}}]}`,
			`{"type":"configuration_update","reasoning":{"effort":"low"}}`,
		}},
	} {
		t.Run(string(tt.on.Format)+tt.model, func(t *testing.T) {
			up := upstreamtest.New(upstreamtest.Options{Calls: 60, Bytes: 4_000, Limit: window / 2})
			seen := &capture{to: up}
			a := newAgent(tt.on, start(t, seen, Options{Window: window / 2}), "Do all the steps.")
			a.model = tt.model
			a.turns(t, 3)
			want := tt.items
			if want == nil { // of the answer that it begins, only it stays
				want = []string{`{"type":"compaction","content":"What was done."}`}
				answer := &a.history[len(a.history)-2]
				*answer = strings.Replace(*answer, `"content":[`, `"content":[`+want[0]+`,`, 1)
			}
			a.history = append(a.history, tt.items...)
			a.run(t)
			wellBehaved(t, up.Log())
			last := string(seen.all()[len(seen.all())-1])
			if !strings.Contains(last, "are folded. This page stands for them") ||
				strings.Contains(last, "step 1 line 100 ") {
				t.Fatal("nothing was folded")
			}
			for _, item := range want {
				if strings.Count(last, item) != 1 {
					t.Errorf("%s is not in the last view: %.3000s", item, last)
				}
			}
		})
	}
}

// Instructions that a client gave midway become one message where a fold would leave them side by side.
func TestSystemMessagesNotSideBySide(t *testing.T) {
	seen := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 60, Bytes: 4_000, Limit: window / 2})}
	a := newAgent(protocol.Chat, start(t, seen, Options{Window: window / 2}), "Do all the steps.")
	told := []string{"Never touch production.", "Write no tests.", "Say the values."}
	for i, more := 0, true; more; i++ {
		var err error
		if more, err = a.step(); err != nil {
			t.Fatal(err)
		}
		if i < len(told) {
			a.history = append(a.history, `{"role":"system","content":"`+told[i]+`"}`)
		}
	}
	joined := 0
	for i, body := range seen.all() {
		r, err := protocol.Chat.Read(body)
		must(t, err)
		list := r.Messages
		for k, m := range list {
			if m.Role() != transcript.RoleSystem {
				continue
			}
			if k > 0 && list[k-1].Role() == transcript.RoleSystem {
				t.Fatalf("request %d has two system messages side by side: %s", i, m.Text())
			}
			if m.Text() == strings.Join(told, "\n\n") {
				joined++
			}
		}
	}
	if joined == 0 {
		t.Error("no view shows the three instructions as one")
	}
}

// curious recalls earlier outputs, one after the other, once it has read the last one.
type curious struct {
	script *upstreamtest.Server
	last   string // what the newest output ends with
	line   string // a line of it
	most   int    // recalls
	asked  int
	lost   []int // of the rounds, those that lacked that line
}

func (c *curious) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var seen capture
	seen.to = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	seen.ServeHTTP(w, r)
	raw := string(seen.bodies[0])
	switch {
	case c.asked == 0 && !strings.Contains(raw, c.last):
		c.script.ServeHTTP(w, httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(raw)))
		return
	case c.asked > 0 && !strings.Contains(raw, c.line):
		c.lost = append(c.lost, c.asked)
	}
	content, stop := `{"type":"text","text":"That is all."}`, "end_turn"
	if c.asked < c.most {
		content = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"unfold","input":{"handle":"#%d"}}`,
			c.asked, 2+2*c.asked)
		stop = "tool_use"
	}
	c.asked++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,`+
		`"usage":{"input_tokens":%d,"output_tokens":5}}`, content, stop, len(raw)/4)
}

// What the newest request brought stays while its turn is open, whatever is recalled, as long
// as there is anything else to fold, also where the client's tools take a third of the window.
func TestNewestResultStaysInItsTurn(t *testing.T) {
	for _, pages := range []int{12, 13, 14, 15, 16, 17, 18, 19, 20} {
		for _, long := range []bool{false, true} {
			up := &curious{
				script: upstreamtest.New(upstreamtest.Options{Calls: pages, Bytes: 9_000}), most: 3,
				last: fmt.Sprintf("step-%d-done", pages), line: fmt.Sprintf("step %d line 20 value", pages),
			}
			a := newAgent(protocol.Messages, start(t, up, Options{Window: 30_000}), "Do all the steps.")
			a.streams = false
			if long {
				up.most = 6
				a.tools = strings.ReplaceAll(a.toolList(), "Run.", strings.Repeat("Run it with care. ", 2_000))
			}
			a.run(t)
			if up.asked != up.most+1 || len(up.lost) > 0 {
				t.Errorf("%d pages: %d recalls; the newest page was gone in rounds %v", pages, up.asked-1, up.lost)
			}
		}
	}
}

// saysBack finds what tells a model how to get something back, or not to ask for it again.
var saysBack = regexp.MustCompile(`unfold\(|search\(|ledger\(|Nothing is lost|do not repeat it`)

// A conversation that is first seen midway has no tools of ours, so nothing in its views
// names them, and nothing forbids the model to run a call again to see its result.
func TestMidway(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 12_000})
		seen := &capture{to: up}
		a := newAgent(on, serve(t, up).String(), "Do all the steps.")
		a.streams = streams
		a.turns(t, 12)
		r, log := newReports(), new(bytes.Buffer)
		a.url = start(t, seen, Options{Window: window, Report: r.add, Logger: slog.New(slog.NewTextHandler(log, nil))})
		before := len(a.bodies)
		a.run(t)
		for _, x := range r.wait(len(a.bodies) - before) {
			if x.NoRecall == "" || x.Snapshot.Trigger == fold.TriggerPays {
				t.Errorf("it has no recall because %q, and is folded because %q", x.NoRecall, x.Snapshot.Trigger)
			}
		}
		if n := strings.Count(log.String(), "cannot ask for what is folded"); n != 1 {
			t.Errorf("the log says %d times that recall is off", n)
		}
		folded := false
		for i, body := range seen.all() {
			folded = folded || regexp.MustCompile(`\[(folded|pleat): `).Match(body)
			if got := saysBack.Find(body); got != nil {
				t.Fatalf("request %d says %q: %s", i, got, body)
			}
		}
		if !folded {
			t.Error("nothing was folded")
		}
	})
}

// A conversation that is first seen midway is known again when its client goes back behind what
// it began with: requests that begin with the same answer have the same tools.
func TestBackBehindMidway(t *testing.T) {
	m := &recalling{script: upstreamtest.New(upstreamtest.Options{Calls: 9, Bytes: 600})}
	a := newAgent(protocol.Messages, startAt(t, serve(t, m), Options{Window: window}), "Do all the steps.")
	a.streams = false
	a.turns(t, 3)
	edited := []string{said("user", "Do some steps."), said("assistant", "Which?"), said("user", "The first.")}
	for _, rest := range [][]string{a.history[1:], {}, {said("assistant", "Really?"), said("user", "Yes.")}} {
		b := *a
		b.history = append(edited[:3:3], rest...)
		b.ask(t)
		if !m.tools {
			t.Errorf("%d messages behind the third: no recall tools are offered", len(rest))
		}
	}
}

const (
	oldCleared = "[Old tool result content cleared]"
	atEnd      = `,"cache_control":{"type":"ephemeral"}`
)

// clear writes something over all results but the newest, as clients do to make room.
func (a *agent) clear(t *testing.T, keep int, with string) {
	t.Helper()
	for i, raw := range a.history[:max(len(a.history)-keep, 0)] {
		m, err := a.on.Codec([]byte(raw))
		must(t, err)
		var edits []transcript.BlockEdit
		for b, block := range m.Blocks().All() {
			if block.Kind() == transcript.KindToolResult {
				edits = append(edits, transcript.BlockEdit{Block: b, Text: with})
			}
		}
		m, err = a.on.Edited(m, edits)
		must(t, err)
		a.history[i] = m.Raw()
	}
}

// mark moves the cache marker to the newest message, as Claude Code does.
func (a *agent) mark() {
	for i, raw := range a.history {
		a.history[i] = strings.ReplaceAll(raw, atEnd, "")
	}
	if last := &a.history[len(a.history)-1]; a.on == protocol.Messages && strings.HasSuffix(*last, "}]}") {
		*last = strings.TrimSuffix(*last, "}]}") + atEnd + "}]}"
	}
}

// A client clears old results again and again: the conversation stays one session, whose view goes on
// as it was, with the originals or their stubs, and what is recalled is the original.
func TestClearedByClient(t *testing.T) {
	for _, every := range []int{1, 4} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			up := upstreamtest.New(upstreamtest.Options{
				Calls: 20, Bytes: 6_000, Parallel: 2, Limit: window, RecallAt: 12, Thinking: true,
			})
			reports, seen := newReports(), &capture{to: up}
			h, url := startHandler(t, seen, Options{Window: window, Report: reports.add, Now: clock()})
			a := newAgent(on, url, "Do all the steps.")
			a.streams = streams
			for n, more := 1, true; more; n++ {
				a.mark()
				var err error
				if more, err = a.step(); err != nil {
					t.Fatal(err)
				}
				if n%every == 0 {
					a.clear(t, 5, oldCleared)
				}
			}
			wellBehaved(t, up.Log())
			recalled, folded := "", false
			for _, x := range up.Log() {
				folded = folded || x.Folded
				if recalled == "" {
					recalled = x.Recalled
				}
			}
			if list := h.Sessions(); len(list) != 1 || recalled != "exact" || !folded {
				t.Errorf("%d sessions, recalled %q, folded %t", len(list), recalled, folded)
			}
			epochs := 0
			for _, x := range reports.wait(len(a.bodies)) {
				epochs += x.Epochs
			}
			for i, body := range seen.all() {
				if strings.Contains(string(body), oldCleared) {
					t.Errorf("request %d has what the client put there", i)
				}
			}
			if n := rewritten(t, on, seen.all()); n > epochs {
				t.Errorf("%d requests do not begin with the one before, in %d epochs", n, epochs)
			}
		})
	}
}
