package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
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
		a.turns(t, 9)
		last := up.all()[len(up.all())-1]
		if bytes.Contains(last, []byte(`"name":"snip"`)) != want ||
			bytes.Contains(last, []byte("[snipped: ")) != want ||
			bytes.Contains(last, []byte("messages from conversation middle]")) != want {
			t.Errorf("%s: the model is sent %s", name, last)
		}
	}
}

// The results of one answer are budgeted together also on a wire where each is a message of its
// own: above 200,000 characters the largest goes to a file, and a marker names it.
func TestMessageBudgetOnChat(t *testing.T) {
	p, err := policy.ByName("four-layer")
	must(t, err)
	var calls, history []string
	for i, size := range []int{60_000, 90_000, 70_000} {
		calls = append(calls,
			fmt.Sprintf(
				`{"id":"c%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"cat %d\"}"}}`,
				i, i))
		text := strings.Repeat(fmt.Sprintf("result %d. ", i), size/10)
		history = append(history, fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"%s"}`, i, text))
	}
	up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",`+
			`"content":"Read."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`)
	})}
	files := make(map[string]int)
	a := newAgent(protocol.Chat, start(t, up, Options{
		Window: 200_000, Policy: p, Session: func(_ store.SessionKey, o *pleat.Options) {
			o.KeepFile = func(name string, data []byte) (string, error) {
				files[name] = len(data)
				return name, nil
			}
		},
	}), "Read the three files.")
	a.streams = false
	a.history = append(a.history, `{"role":"assistant","content":null,"tool_calls":[`+strings.Join(calls, ",")+`]}`)
	a.history = append(a.history, history...)
	a.turn(t)
	sent := up.all()[0]
	if len(files) != 1 || files[".task_outputs/tool-results/c1.txt"] != 90_000 {
		t.Errorf("the files are %v", files)
	}
	if n := bytes.Count(sent, []byte("Full output saved to: .task_outputs/tool-results/c1.txt")); n != 1 ||
		len(sent) > 200_000 {
		t.Errorf("%d markers in a request of %d bytes", n, len(sent))
	}
}

// After a compact call the next request of the same turn shows the summary, and no longer what it
// stands for.
func TestCompactStartsFresh(t *testing.T) {
	p, err := policy.ByName("four-layer")
	must(t, err)
	n := 0
	up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tool, input := "bash", fmt.Sprintf(`{"command":"printf \"step %d line\" i<100;"}`, n+1)
		if n++; n == 4 {
			tool, input = "compact", `{}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m%d","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":5},"content":[{"type":"tool_use","id":"b%d","name":"%s","input":%s}]}`,
			n, n, tool, input)
	})}
	a := newAgent(protocol.Messages, start(t, up, Options{Window: 200_000, Policy: p}), "Do all the steps.")
	a.streams = false
	a.turns(t, 4)
	sent := up.all()
	if len(sent) != 5 {
		t.Fatalf("%d requests for 4 turns, one of which compacts", len(sent))
	}
	before, after := sent[3], sent[4]
	if !bytes.Contains(before, []byte("step 1 line 7 ")) || bytes.Contains(after, []byte("step 1 line 7 ")) {
		t.Errorf("after the call the request still shows what was compacted: %s", after)
	}
	for _, want := range []string{"[Compacted]", "[Compacted. History summarized.]"} {
		if !bytes.Contains(after, []byte(want)) {
			t.Errorf("after the call the request does not show %s: %s", want, after)
		}
	}
}
