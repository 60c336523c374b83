package sessionlog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// read returns the messages of a session and what the log says of it.
func read(t *testing.T, data string) (msgs []transcript.Message, info sessionlog.Info) {
	t.Helper()
	log, err := sessionlog.Open(strings.NewReader(data), nil)
	must(t, err)
	for rec, err := range log.Records() {
		must(t, err)
		msgs = append(msgs, rec.Message)
	}
	return msgs, log.Info()
}

// words are those of the people in a session.
func words(msgs []transcript.Message) *userwords.Words {
	var w userwords.Words
	var before annotate.State
	for i, m := range msgs {
		w.Hear(i, m, annotate.Message(m, &before))
	}
	return &w
}

// What a Claude Code log says of where a message came from decides, in the line or in the
// attachment that holds a text which waited.
func TestClaudeOrigin(t *testing.T) {
	const injected, unknown = transcript.OriginInjected, transcript.OriginUnknown
	said := `,"type":"user","message":{"role":"user","content":"push"}}`
	waited := func(more string) string {
		return `,"type":"attachment","attachment":{"type":"queued_command","prompt":"push"` + more + `}}`
	}
	for line, want := range map[string]transcript.Origin{
		said:                                unknown,
		`,"isMeta":true` + said:             injected,
		`,"origin":{"kind":"human"}` + said: unknown,
		`,"origin":{"kind":"coordinator"}` + said: injected,
		waited(""):                           unknown,
		waited(`,"isMeta":true`):             injected,
		waited(`,"origin":{"kind":"human"}`): unknown,
		waited(`,"origin":{"kind":"channel","server":"chat"}`): injected,
	} {
		msgs, info := read(t, `{"uuid":"u1","sessionId":"s"`+line)
		for _, m := range msgs {
			if m.Origin() != want || m.Text() != "push" {
				t.Errorf("%s gives %q of %v, want %v", line, m.Text(), m.Origin(), want)
			}
		}
		if info.Format != sessionlog.ClaudeCode {
			t.Errorf("%s is read as %v", line, info.Format)
		}
	}
}

// What a Copilot log holds beside what was sent is what was typed, whatever it reads like.
func TestCopilotOrigin(t *testing.T) {
	for data, want := range map[string]transcript.Origin{
		`"content":"<tick>never</tick>","transformedContent":"<tick>never</tick>\n\n<x>y</x>"`: transcript.OriginTyped,
		`"content":"<tick>never</tick>","source":"user"`:                                       transcript.OriginTyped,
		`"content":"<tick>never</tick>","source":"skill-x"`:                                    transcript.OriginInjected,
		`"content":"<tick>never</tick>"`:                                                       transcript.OriginUnknown,
	} {
		msgs, _ := read(t, `{"type":"session.start","data":{"sessionId":"s"}}`+"\n"+
			`{"type":"user.message","data":{`+data+`}}`+"\n")
		for _, m := range msgs {
			if strings.Contains(m.Text(), "never") && m.Origin() != want {
				t.Errorf("%s is of %v, want %v", data, m.Origin(), want)
			}
		}
	}
}

// Results of two answers on one line follow both, so that none stands before its call.
func TestResultsOfTwoAnswers(t *testing.T) {
	const log = `{"type":"assistant","uuid":"1","sessionId":"s","message":{"role":"assistant","id":"a","content":[` +
		`{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}
{"type":"user","uuid":"2","parentUuid":"1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","message":{"role":"assistant","id":"b","content":[{"type":"tool_use","id":"t3","name":"Read","input":{}}]}}
{"type":"user","uuid":"4","parentUuid":"3","message":{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"t2","content":"y"},{"type":"tool_result","tool_use_id":"t3","content":"z"}]}}
`
	msgs, _ := read(t, log)
	var order []string
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				order = append(order, "call "+b.ID)
			case transcript.ToolResult:
				order = append(order, "result "+b.CallID)
			}
		}
	}
	want := []string{"call t1", "call t2", "result t1", "call t3", "result t2", "result t3"}
	if !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

// In a log of Claude Code, the reason why a person refused a call is theirs, apart from what servers and
// sub-agents can write; without a log, nobody can tell.
func TestClaudeRefusals(t *testing.T) {
	const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. " +
		`To tell you how to proceed, the user said:\nnever push`
	for _, tt := range []struct {
		tool, result string
		said         bool
	}{
		{"Bash", refused, true},
		{"mcp__db__query", refused, false},
		{"Task", refused, false},
		{"Bash", "Exit code 1\\n" + refused, false},
	} {
		msgs, _ := read(t, `{"type":"assistant","uuid":"1","sessionId":"s","message":{"role":"assistant",`+
			`"content":[{"type":"tool_use","id":"t","name":"`+tt.tool+`","input":{}}]}}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":[`+
			`{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"`+tt.result+`"}]}}`)
		w := words(msgs)
		for i, m := range msgs {
			msgs[i] = m.WithOrigin(transcript.OriginUnknown)
		}
		wire := words(msgs)
		if said := w.Said(); len(said) > 0 != tt.said || tt.said && said[0].Text != "never push" || len(wire.Said()) > 0 {
			t.Errorf("%s answers %q: %v, without a log %v", tt.tool, tt.result, said, wire.Said())
		}
	}
}

// What a person typed in a Cline session stands on the page, whatever it begins with, and nothing
// else of it is theirs.
func TestClineOrigin(t *testing.T) {
	const (
		input = `<user_input mode="act">hello</user_input>`
		env   = "<environment_details>\nx\n</environment_details>"
	)
	for _, tt := range []struct {
		blocks []string
		typed  string
		unsure string
	}{
		{[]string{"[URGENT] never push"}, "[URGENT] never push", ""},
		{[]string{"<div> never push"}, "<div> never push", ""},
		{[]string{"<b>never</b> push", env}, "<b>never</b> push", ""},
		{[]string{"<task>\nnever push\n</task>", env}, "never push", ""},
		{[]string{env}, "", ""},
		{[]string{input}, "hello", ""},
		{[]string{input, env}, "hello", ""},
		{[]string{input, env, "never push"}, "hello", "never push"},
		{[]string{input, "<hook>a</hook>"}, "hello", "<hook>a</hook>"},
		{[]string{input + "\n\nnever push"}, "hello", "never push"},
		{[]string{"[read_file for 'a'] Result:", "FORGED"}, "", ""},
		{[]string{"[get_notes for 'a'] Result:", "never push"}, "", "never push"},
	} {
		var content []map[string]string
		for _, text := range tt.blocks {
			content = append(content, map[string]string{"type": "text", "text": text})
		}
		list, _ := json.Marshal(content)
		msgs, _ := read(t, `{"sessionId":"c","messages":[`+
			`{"ts":1,"role":"assistant","content":"<read_file>\n<path>a</path>\n</read_file>"},`+
			`{"ts":2,"role":"user","content":`+string(list)+`}]}`)
		w := words(msgs)
		typed := ""
		for _, s := range w.Said() {
			typed += s.Text
		}
		_, unsure, found := strings.Cut(w.Render(userwords.RenderOptions{}), "the user or a program wrote")
		if typed != tt.typed || found != (tt.unsure != "") ||
			!strings.Contains(unsure, tt.unsure) {
			t.Errorf("%q gives %q, unsure %q", tt.blocks, typed, unsure)
		}
	}
}
