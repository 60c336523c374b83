package proxy

import (
	"cmp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

const window = 24_000

// A conversation of many times the window ends well: nothing overflows, nothing illegal
// goes out, and what was folded comes back exactly, without the client noticing.
func TestLongConversation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	for _, beside := range []bool{false, true} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			up := upstreamtest.New(upstreamtest.Options{
				Calls: 24, Bytes: 12_000, Limit: window, RecallAt: 12, Beside: beside,
			})
			reports, seen := newReports(), &capture{to: up}
			a := newAgent(on, start(t, seen, Options{Window: window, Report: reports.add}), "Do all the steps.")
			a.streams = streams
			a.run(t)
			log := up.Log()
			wellBehaved(t, log)
			if on == protocol.Messages {
				togetherIn(t, seen.all())
			}
			recalled, folded, hidden := "", false, 0
			for _, r := range reports.wait(len(a.bodies)) {
				folded = folded || r.Folded
				hidden += r.Hidden
			}
			for _, x := range log {
				if recalled == "" {
					recalled = x.Recalled // later it may be folded itself
				}
			}
			if !folded || recalled != "exact" || hidden == 0 {
				t.Errorf("folded %t, recalled %q, hidden rounds %d", folded, recalled, hidden)
			}
			if last := log[len(log)-1]; last.Step != 24 {
				t.Errorf("the last request has step %d", last.Step)
			}
			if got := strings.Count(strings.Join(a.history, ""), "call_recall_1"); got != 0 {
				t.Errorf("the client knows of a hidden call")
			}
		})
	}
}

// togetherIn fails the test for results of one answer in two messages.
func togetherIn(t *testing.T, bodies [][]byte) {
	t.Helper()
	for i, body := range bodies {
		r, err := protocol.Messages.Read(body)
		must(t, err)
		had := false
		for _, m := range r.Messages {
			has := m.Blocks().Has(transcript.KindToolResult)
			if has && had {
				t.Fatalf("request %d has the results of one answer in two messages", i)
			}
			had = has
		}
	}
}

// Codex has no list of tools: they stand in the input. Its conversations are folded and
// get the recall tools like others, in a list of their own.
func TestToolsInInput(t *testing.T) {
	for _, name := range []string{"search", "wait"} {
		up := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, Limit: window, RecallAt: 12})
		seen := &capture{to: up}
		a := newAgent(protocol.Responses, start(t, seen, Options{Window: window}), "Do all the steps.")
		a.tools = "none"
		a.history = append([]string{`{"type":"additional_tools","id":"at_1","role":"developer","tools":[{"type":"namespace","name":"functions","description":"","tools":[` +
			`{"type":"function","name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}},` +
			`{"type":"function","name":"` + name + `","parameters":{"type":"object"}}]}]}`}, a.history...)
		a.run(t)
		log := up.Log()
		wellBehaved(t, log)
		folded, recalled := false, ""
		for _, x := range log {
			folded = folded || x.Folded
			recalled = cmp.Or(recalled, x.Recalled)
		}
		prefix, want := "", "exact"
		if name == "search" { // one of ours: the script does not know the other names
			prefix, want = lineage.ToolPrefix, ""
		}
		if !folded || recalled != want {
			t.Errorf("%s: folded %t, recalled %q, want %q", name, folded, recalled, want)
		}
		if first := string(seen.all()[0]); !strings.HasPrefix(first,
			`{"tools":[{"type":"function","name":"`+prefix+`unfold"`) {
			t.Errorf("%s: the first request begins with %.80s", name, first)
		}
	}
}
