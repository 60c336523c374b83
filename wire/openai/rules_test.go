package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ruleTest is a rule: a request that breaks it, in the provider's words, and one that
// does not. Its name is the beginning of the provider's error.
type ruleTest struct {
	name    string
	rule    string
	path    string
	message string
	bad     string
	good    string
}

func (rt ruleTest) run(t *testing.T, decode func([]byte) (request, error)) {
	r, err := decode([]byte(rt.bad))
	must(t, err)
	var found *transcript.Violation
	for _, v := range r.Check(model.Model{}) {
		if v.Rule == rt.rule && found == nil {
			found = &v
		}
	}
	switch {
	case found == nil:
		t.Errorf("bad request does not break %q: %v", rt.rule, r.Check(model.Model{}))
	case found.Message != rt.message:
		t.Errorf("message\n got %s\nwant %s", found.Message, rt.message)
	case found.Path != rt.path:
		t.Errorf("path %q, want %q", found.Path, rt.path)
	}
	if r, err = decode([]byte(rt.good)); err != nil {
		t.Fatal(err)
	}
	if v := r.Check(model.Model{}); len(v) > 0 {
		t.Errorf("good request breaks %v", v)
	}
	// Whatever is wrong with it, it passes through.
	if out, err := r.Splice(transcript.Whole(len(r.common().Messages))); err != nil || string(out) != rt.good {
		t.Errorf("whole view: %v", err)
	}
}

// msgs is a Chat request of the given messages.
func msgs(list ...string) string {
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

const (
	user    = `{"role":"user","content":"hi"}`
	calls2  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	resultA = `{"role":"tool","tool_call_id":"a","content":"1"}`
	resultB = `{"role":"tool","tool_call_id":"b","content":"2"}`
)

var chatRules = []ruleTest{
	{
		name:    "An assistant message with 'tool_calls' must be followed by tool messages",
		rule:    "tool-result-missing",
		path:    "messages.[2].role",
		message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a, b",
		bad:     msgs(user, calls2, user), good: msgs(user, calls2, resultB, resultA, user),
	},
	{
		name: "An assistant message with 'tool_calls' at the end", rule: "tool-result-missing",
		path:    "messages.[2].role",
		message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
		bad:     msgs(user, calls2, resultA), good: msgs(user, calls2, resultA, resultB),
	},
	{
		name:    "An assistant message with 'tool_calls' and a message between",
		rule:    "tool-result-missing",
		path:    "messages.[3].role",
		message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
		bad:     msgs(user, calls2, resultA, user, resultB), good: msgs(user, calls2, resultA, resultB, user),
	},
	{
		name:    "messages with role 'tool' must be a response to a preceeding message",
		rule:    "tool-result-orphan",
		path:    "messages.[1].role",
		message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
		bad:     msgs(user, resultA), good: msgs(user, calls2, resultA, resultB),
	},
	{
		name: "messages with role 'tool' after something else", rule: "tool-result-orphan", path: "messages.[4].role",
		message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
		bad:     msgs(user, calls2, resultA, user, resultB), good: msgs(user, calls2, resultA, resultB, user),
	},
	{
		name:    "'tool_call_id' not found in 'tool_calls' of previous message",
		rule:    "tool-result-unknown",
		path:    "messages.[4].tool_call_id",
		message: "Invalid parameter: 'tool_call_id' of 'zz' not found in 'tool_calls' of previous message.",
		bad: msgs(user, calls2, resultA, resultB,
			`{"role":"tool","tool_call_id":"zz","content":""}`), good: msgs(user, calls2, resultA, resultB),
	},
	{
		name: "Duplicate value for 'tool_call_id'", rule: "tool-result-duplicate", path: "messages.[3].tool_call_id",
		message: "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
		bad:     msgs(user, calls2, resultA, resultA, resultB), good: msgs(user, calls2, resultA, resultB),
	},
	{
		name:    "Invalid value for 'content': expected a string, got null (assistant)",
		rule:    "content-null",
		path:    "messages.[1].content",
		message: "Invalid value for 'content': expected a string, got null.",
		bad:     msgs(user, `{"role":"assistant","content":null}`, user), good: msgs(user,
			`{"role":"assistant","content":""}`, user),
	},
	{
		name:    "Invalid value for 'content': expected a string, got null (missing)",
		rule:    "content-null",
		path:    "messages.[0].content",
		message: "Invalid value for 'content': expected a string, got null.",
		bad:     msgs(`{"role":"user"}`), good: msgs(user, `{"role":"assistant","content":null,"refusal":"no"}`, user),
	},
	{
		name: "Invalid 'messages': empty array", rule: "array-empty", path: "messages",
		message: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		bad:     msgs(), good: msgs(user),
	},
	{
		name: "Invalid tool_calls: empty array", rule: "array-empty", path: "messages[1].tool_calls",
		message: "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		bad:     msgs(user, `{"role":"assistant","content":"x","tool_calls":[]}`), good: msgs(user,
			`{"role":"assistant","content":"x","tool_calls":null}`),
	},
	{
		name: "Invalid content: empty array", rule: "array-empty", path: "messages[0].content",
		message: "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		bad:     msgs(`{"role":"user","content":[]}`),
		good:    msgs(`{"role":"user","content":[{"type":"text","text":"x"}]}`),
	},
	{
		name: "string does not match pattern", rule: "name-pattern", path: "messages[0].tool_calls[0].function.name",
		message: "Invalid 'messages[0].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
		bad:     msgs(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f.g","arguments":""}}]}`, resultA),
		good:    msgs(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f-g_2","arguments":""}}]}`, resultA),
	},
	{
		name: "string too long (tool call id)", rule: "string-too-long", path: "messages[0].tool_calls[0].id",
		message: "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
		bad:     strings.ReplaceAll(msgs(calls2, resultA, resultB), `"a"`, `"`+strings.Repeat("é", 65)+`"`),
		good:    strings.ReplaceAll(msgs(calls2, resultA, resultB), `"a"`, `"`+strings.Repeat("é", 64)+`"`),
	},
}

func TestChatRules(t *testing.T) {
	for _, rt := range chatRules {
		t.Run(rt.name, func(t *testing.T) { rt.run(t, decoders[0].decode) })
	}
}

// input is a Responses request of the given items.
func input(list ...string) string {
	return `{"model":"m","store":false,"input":[` + strings.Join(list, ",") + `]}`
}

// decoded is a Responses request.
func decoded(t testing.TB, body string) *ResponsesRequest {
	t.Helper()
	r, err := DecodeResponses([]byte(body))
	must(t, err)
	return r
}

const (
	asks    = `{"role":"user","content":"hi"}`
	fcA     = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"}`
	outA    = `{"type":"function_call_output","call_id":"a","output":"1"}`
	ctcB    = `{"type":"custom_tool_call","call_id":"b","name":"patch","input":"x"}`
	outB    = `{"type":"custom_tool_call_output","call_id":"b","output":"2"}`
	rs1     = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`
	says    = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]}`
	trigger = `{"type":"compaction_trigger"}`
)

var responsesRules = []ruleTest{
	{
		name: "No tool output found for function call", rule: "tool-result-missing", path: "input",
		message: "No tool output found for function call a.", bad: input(asks, fcA), good: input(asks, fcA, outA),
	},
	{
		name: "No tool output found for custom tool call", rule: "tool-result-missing", path: "input",
		message: "No tool output found for custom tool call b.", bad: input(asks, ctcB, asks), good: input(asks, ctcB,
			asks, outB),
	},
	{
		name: "No tool call found for function call output", rule: "tool-result-orphan", path: "input",
		message: "No tool call found for function call output with call_id a.", bad: input(asks,
			outA), good: input(asks, fcA, outA),
	},
	{
		name: "No tool call found for an output before its call", rule: "tool-result-orphan", path: "input",
		message: "No tool call found for function call output with call_id a.", bad: input(asks, outA,
			fcA), good: input(asks, fcA, outA),
	},
	{
		name: "No tool call found for an output of another type", rule: "tool-result-orphan", path: "input",
		message: "No tool call found for function call output with call_id b.",
		bad:     input(asks, ctcB, strings.ReplaceAll(outA, `"a"`, `"b"`)), good: input(asks, ctcB, outB),
	},
	{
		name: "No tool call found, unless it lies with the provider", rule: "tool-result-orphan", path: "input",
		message: "No tool call found for function call output with call_id a.",
		bad:     input(outA), good: `{"previous_response_id":"resp_1","input":[` + outA + `]}`,
	},
	{
		name: "Duplicate function_call_output", rule: "tool-result-duplicate", path: "input",
		message: "Duplicate function_call_output for call_id 'a'. Each function_call must have exactly one matching function_call_output",
		bad:     input(asks, fcA, outA, outA), good: input(asks, fcA, outA),
	},
	{
		name:    "Item of type 'reasoning' was provided without its required following item",
		rule:    "reasoning-unfollowed",
		path:    "input",
		message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
		bad:     input(asks, rs1, asks), good: input(asks, rs1, says, asks),
	},
	{
		name: "Item of type 'reasoning' at the end", rule: "reasoning-unfollowed", path: "input",
		message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
		bad:     input(asks, rs1), good: input(asks, strings.ReplaceAll(rs1, `"id":"rs_1",`, "")),
	},
	{
		name: "Item with id not found (reasoning)", rule: "item-not-stored", path: "input",
		message: "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
		bad:     input(asks, `{"type":"reasoning","id":"rs_1","summary":[]}`, says), good: input(asks, rs1, says),
	},
	{
		name: "Item with id not found (reference)", rule: "item-not-stored", path: "input",
		message: "Item with id 'msg_9' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
		bad:     input(asks, `{"type":"item_reference","id":"msg_9"}`), good: `{"input":[` + asks +
			`,{"type":"item_reference","id":"msg_9"}]}`,
	},
	{
		name: "The 'compaction_trigger' item must be the final input item", rule: "compaction-trigger-last",
		path:    "input[1]",
		message: "The 'compaction_trigger' item must be the final input item.", bad: input(asks, trigger,
			asks), good: input(asks, asks, trigger),
	},
	{
		name: "One of input or previous_response_id must be provided", rule: "input-empty", path: "input",
		message: "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
		bad:     input(), good: `{"previous_response_id":"resp_1"}`,
	},
	{
		name: "Duplicate item found", rule: "item-duplicate", path: "input",
		message: "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
		bad:     input(asks, says, says), good: input(asks, says),
	},
	{
		name: "string too long (call_id)", rule: "string-too-long", path: "input[0].call_id",
		message: "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
		bad: strings.ReplaceAll(input(fcA, outA), `"a"`,
			`"`+strings.Repeat("x", 65)+`"`), good: strings.ReplaceAll(input(fcA, outA), `"a"`, `"`+strings.Repeat("x", 64)+`"`),
	},
	{
		name: "string does not match pattern", rule: "name-pattern", path: "input[0].name",
		message: "Invalid 'input[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
		bad:     input(strings.ReplaceAll(fcA, `"f"`, `"f g"`), outA), good: input(fcA, outA),
	},
}

func TestResponsesRules(t *testing.T) {
	for _, rt := range responsesRules {
		t.Run(rt.name, func(t *testing.T) { rt.run(t, decoders[1].decode) })
	}
}

// The rule that needs to know what was there before.
func TestItemWasProvidedWithoutItsRequiredReasoningItem(t *testing.T) {
	before, without := decoded(t, input(asks, rs1, fcA, outA, says)), decoded(t, input(asks, fcA, outA, says))
	want := []string{
		"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
		"Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
	}
	var got []string
	for _, v := range without.CheckAgainst(before, model.Model{}) {
		got = append(got, v.Message)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v := without.Check(model.Model{}); len(v) > 0 {
		t.Errorf("the request alone breaks %v", v)
	}
	// Splice takes the ids away.
	view := transcript.Whole(5)
	view.Messages = append(view.Messages[:1], view.Messages[2:]...)
	out, err := before.Splice(view)
	must(t, err)
	if s := string(out); strings.Contains(s, "fc_1") || strings.Contains(s, "msg_1") || strings.Contains(s, "rs_1") {
		t.Errorf("ids are still there: %s", s)
	}
	after := decoded(t, string(out))
	if v := after.CheckAgainst(before, model.Model{}); len(v) > 0 {
		t.Errorf("the spliced request breaks %v\n%s", v, out)
	}
}
