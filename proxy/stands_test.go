package proxy

import (
	"strings"
	"testing"

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
			for range 3 {
				a.turn(t)
			}
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
