package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// An answer that asks for a compaction has thinking that was made before it: the next view
// shows it behind other bytes and asks the provider to drop it.
func TestCompactUnbindsItsAnswer(t *testing.T) {
	n := 0
	reply := func(w http.ResponseWriter, more string) {
		n++
		command := fmt.Sprintf(`printf \"step %d line\" i<100;`, n)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m%d","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":5},"content":[{"type":"thinking","thinking":"","signature":"signed-%d"},%s{"type":"tool_use","id":"b%d","name":"bash","input":{"command":"%s"}}]}`,
			n, n, more, n, command)
	}
	up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n == 8 {
			reply(w, `{"type":"tool_use","id":"c8","name":"compact","input":{}},`)
			return
		}
		reply(w, "")
	})}
	r := newReports()
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Report: r.add}), "Do all the steps.")
	a.model, a.streams = "claude-opus-5-5", false
	a.extra = `,"thinking":{"type":"adaptive"}`
	for i := range 10 {
		if i == 8 {
			a.say("Now the rest.") // all thinking before it may go
		}
		a.turn(t)
	}
	if got := r.wait(9)[8].Epochs; got != 1 {
		t.Errorf("the request in which the model compacted opened %d epochs, want 1", got)
	}
	last := up.all()[len(up.all())-1]
	if !bytes.Contains(last, []byte("signed-9")) || !bytes.Contains(last, []byte("[pleat compact: ")) {
		t.Fatalf("the test shows nothing: %s", last)
	}
	if !bytes.Contains(last, []byte(`"prefix_mismatch_behavior":"drop_block"`)) {
		t.Error("thinking is behind other bytes than it was made behind, and the request does not ask to drop it")
	}
}

// A client's call whose signature was on a call of ours before it can be sent without ours.
func TestGeminiSignatureOfHiddenCall(t *testing.T) {
	own := func(name string) bool { return name == "unfold" }
	parts := `{"functionCall":{"name":"unfold","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"bash","args":{}}},{"functionCall":{"name":"bash","args":{}}}`
	body := `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"STOP"}]}`
	const want = `[{"functionCall":{"name":"bash","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"bash","args":{}}}]`
	if got := protocol.Gemini.Join([][]byte{[]byte(body)}, own); !strings.Contains(string(got), want) {
		t.Errorf("got %s", got)
	}
	s := protocol.Gemini.Stream(own)
	s.Event([]byte("data: "+body+"\n\n"), []byte(body))
	if got := s.End(); !strings.Contains(string(got), want) {
		t.Errorf("the stream has %s", got)
	}
}

// Under a policy that snips the model has the tool for it, and its call is answered like those
// of the other tools of ours; under others it has not.
func TestSnipTool(t *testing.T) {
	for name, want := range map[string]bool{"four-layer": true, "default": false} {
		p, err := policy.ByName(name)
		must(t, err)
		n := 0
		up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			tool, input := "bash", fmt.Sprintf(`{"command":"printf \"step %d line\" i<100;"}`, n+1)
			if n++; n == 9 && want {
				tool, input = "snip", `{"keep":4}`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"m%d","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":5},"content":[{"type":"tool_use","id":"b%d","name":"%s","input":%s}]}`,
				n, n, tool, input)
		})}
		a := newAgent(protocol.Messages, start(t, up, Options{Window: 200_000, Policy: p}), "Do all the steps.")
		a.model, a.streams = "claude-opus-5-5", false
		for range 9 {
			a.turn(t)
		}
		last := up.all()[len(up.all())-1]
		if bytes.Contains(last, []byte(`"name":"snip"`)) != want ||
			bytes.Contains(last, []byte("[snipped: ")) != want ||
			bytes.Contains(last, []byte("messages from conversation middle]")) != want {
			t.Errorf("%s: the model is sent %s", name, last)
		}
	}
}
