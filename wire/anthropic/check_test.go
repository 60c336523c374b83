package anthropic

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// rule is a request that breaks one rule and one that does not. The bodies are written
// without model and max_tokens unless they say otherwise.
type rule struct {
	name  string // of the test: the provider's error
	rule  string
	model string // looked up in the default table; empty: rules for every model
	bad   string
	want  string // the violation as Path: Message
	good  string
}

func TestCheck(t *testing.T) {
	used := make(map[string]bool)
	for _, list := range [][]rule{
		pairRules, contentRules, roleRules, cacheRules, paramRules, serverRules,
		compactionRules,
	} {
		for _, tt := range list {
			used[tt.rule] = true
			t.Run(tt.name, func(t *testing.T) { tt.run(t) })
		}
	}
	for _, name := range documentedRules(t) {
		if !used[name] {
			t.Errorf("rule %s has no example", name)
		}
	}
	for name := range used {
		if !slices.Contains(documentedRules(t), name) {
			t.Errorf("rule %s is not in the package documentation", name)
		}
	}
}

func (tt rule) run(t *testing.T) {
	var m model.Model
	if tt.model != "" {
		var ok bool
		if m, ok = model.DefaultModels().Lookup(tt.model); !ok {
			t.Fatalf("no model %q", tt.model)
		}
	}
	var got []string
	for _, v := range checkBody(t, tt.bad, m) {
		if v.Rule == tt.rule {
			got = append(got, v.String())
		}
	}
	if !slices.Contains(got, tt.want) {
		t.Errorf("got violations of %s:\n%s\nwant:\n%s", tt.rule, strings.Join(got, "\n"), tt.want)
	}
	if vs := checkBody(t, tt.good, m); len(vs) > 0 {
		t.Errorf("legal request has violations: %v", vs)
	}
}

// checkBody adds what every request needs and checks it.
func checkBody(t *testing.T, body string, m model.Model) []transcript.Violation {
	t.Helper()
	for _, need := range []string{`"model":"claude-test"`, `"max_tokens":9000`} {
		name, _, _ := strings.Cut(need, ":")
		if !strings.Contains(body, name) {
			body = strings.Replace(body, "{", "{"+need+",", 1)
		}
	}
	body = strings.ReplaceAll(body, `,"REMOVE":0`, "")
	r, err := Decode([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r.Check(m)
}

// Shorthand for bodies.
const (
	hi       = `{"role":"user","content":"hi"}`
	yes      = `{"role":"assistant","content":"ok"}`
	use1     = `{"type":"tool_use","id":"toolu_1","name":"run","input":{}}`
	use2     = `{"type":"tool_use","id":"toolu_2","name":"run","input":{}}`
	res1     = `{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}`
	res2     = `{"type":"tool_result","tool_use_id":"toolu_2","content":"done"}`
	say      = `{"type":"text","text":"look"}`
	think    = `{"type":"thinking","thinking":"hm","signature":"sig"}`
	marked5m = `"cache_control":{"type":"ephemeral"}`
	marked1h = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	web      = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	found    = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
	sign     = `{"type":"compaction","content":"so far","signature":"sig"}`
	tool     = `"tools":[{"name":"run","input_schema":{"type":"object"}}]`
)

func msgs(list ...string) string { return `{"messages":[` + strings.Join(list, ",") + `]}` }

func with(extra string, list ...string) string {
	return `{"messages":[` + strings.Join(list, ",") + `],` + extra + `}`
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func asst(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func sys(text string) string { return `{"role":"system","content":"` + text + `"}` }

var pairRules = []rule{
	{
		name: "tool_use ids were found without tool_result blocks immediately after", rule: "tool-result-missing",
		bad: msgs(hi, asst(use1, use2), user(res1)),
		want: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. " +
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		good: msgs(hi, asst(use1, use2), user(res2, res1)),
	},
	{
		name: "tool_use ids were found without tool_result: system message in between", rule: "tool-result-missing",
		bad: msgs(hi, asst(use1), sys("note"), user(res1)),
		want: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. " +
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		good: msgs(hi, asst(use1), user(res1), sys("note")),
	},
	{
		name: "unexpected tool_use_id found in tool_result blocks", rule: "tool-result-unexpected",
		bad: msgs(hi, asst(use1), user(res1, res2)),
		want: "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_2. " +
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
		good: msgs(hi, asst(use1, use2), user(res1), user(res2)), // neighbours are one turn
	},
	{
		name: "each tool_use must have a single result", rule: "tool-result-duplicate",
		bad:  msgs(hi, asst(use1), user(res1, res1)),
		want: "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
		good: msgs(hi, asst(use1), user(res1)),
	},
	{
		name: "tool_use ids must be unique", rule: "tool-use-id-duplicate",
		bad:  msgs(hi, asst(use1), user(res1), asst(use1), user(res1)),
		want: "messages.3.content.0: `tool_use` ids must be unique",
		good: msgs(hi, asst(use1), user(res1), asst(use2), user(res2)),
	},
	{
		name: "tool_use without tool_result: text stands before the results", rule: "tool-results-first",
		bad: msgs(hi, asst(use1), user(say, res1)),
		want: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. " +
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		good: msgs(hi, asst(use1), user(res1, say)),
	},
	{
		name: "tool_use.input Input should be a valid dictionary", rule: "tool-use-input",
		bad:  msgs(hi, asst(`{"type":"tool_use","id":"toolu_1","name":"run","input":"ls"}`), user(res1)),
		want: "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
		good: msgs(hi, asst(`{"type":"tool_use","id":"toolu_1","name":"run","input":{"c":"ls"}}`), user(res1)),
	},
}

var contentRules = []rule{
	{
		name: "text content blocks must be non-empty", rule: "text-empty",
		bad:  msgs(user(say, `{"type":"text","text":""}`)),
		want: "messages: text content blocks must be non-empty",
		good: msgs(user(say)),
	},
	{
		name: "text content blocks must be non-empty: inside a result", rule: "text-empty",
		bad: msgs(hi, asst(use1),
			user(`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":""}]}`)),
		want: "messages: text content blocks must be non-empty",
		good: msgs(hi, asst(use1), user(`{"type":"tool_result","tool_use_id":"toolu_1","content":""}`)),
	},
	{
		name: "text content blocks must contain non-whitespace text", rule: "text-whitespace",
		bad:  msgs(user(`{"type":"text","text":" \n\u0009"}`)),
		want: "messages: text content blocks must contain non-whitespace text",
		good: msgs(user(`{"type":"text","text":" \n\u0009."}`)),
	},
	{
		name: "text content must contain non-whitespace text: string", rule: "text-whitespace",
		bad:  msgs(`{"role":"user","content":"\n"}`),
		want: "messages: text content blocks must contain non-whitespace text",
		good: msgs(hi),
	},
	{
		name: "all messages must have non-empty content", rule: "message-empty",
		bad:  msgs(hi, `{"role":"assistant","content":[]}`, hi),
		want: "messages.1: all messages must have non-empty content except for the optional final assistant message",
		good: msgs(hi, `{"role":"assistant","content":[]}`),
	},
	{
		name: "all messages must have non-empty content: string", rule: "message-empty",
		bad:  msgs(`{"role":"user","content":""}`),
		want: "messages.0: all messages must have non-empty content except for the optional final assistant message",
		good: msgs(hi, `{"role":"system","content":[],"output_config":{"effort":"low"}}`),
	},
	{
		name: "Expected thinking or redacted_thinking but found tool_use", rule: "thinking-first",
		bad: with(`"thinking":{"type":"enabled","budget_tokens":2000}`, hi, asst(use1), user(res1), asst(think, use2),
			user(res2)),
		want: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. " +
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block " +
			"(preceeding the lastmost set of `tool_use` and `tool_result` blocks). " +
			"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
		good: with(`"thinking":{"type":"enabled","budget_tokens":2000}`, hi, asst(think, use1), user(res1), asst(use2),
			user(res2)),
	},
}

var roleRules = []rule{
	{
		name: "at least one message is required", rule: "messages-empty",
		bad: msgs(), want: "messages: at least one message is required", good: msgs(hi),
	},
	{
		name: "first message must use the user role", rule: "first-role",
		bad: msgs(yes, hi), want: `messages: first message must use the "user" role`,
		good: msgs(asst(sign), hi),
	},
	{
		name: "role system is not supported on this model", rule: "system-role-refused", model: "claude-sonnet-5",
		bad: msgs(hi, sys("note")), want: "messages.1: role 'system' is not supported on this model",
		good: msgs(hi),
	},
	{
		name: "role system cannot be the first message", rule: "system-role-place", model: "claude-opus-5-5",
		bad: msgs(sys("note"), hi), want: "messages.0: a message with role 'system' cannot be the first message",
		good: msgs(hi, sys("note"), sys("more"), yes, hi),
	},
	{
		name: "role system must follow a user message", rule: "system-role-place",
		bad:  msgs(hi, yes, sys("note"), yes, hi),
		want: "messages.2: a message with role 'system' must follow a user message",
		good: msgs(hi, asst(web, found), sys("note"), yes, hi),
	},
	{
		name: "role system must be last or be followed by an assistant message", rule: "system-role-place",
		bad:  msgs(hi, sys("note"), hi),
		want: "messages.1: a message with role 'system' must be last or be followed by an assistant message",
		good: msgs(hi, sys("note"), yes, hi, sys("note")),
	},
	{
		name: "This model does not support assistant message prefill", rule: "prefill-refused", model: "claude-opus-5",
		bad:  msgs(hi, yes),
		want: "messages.1: This model does not support assistant message prefill. The conversation must end with a user message.",
		good: msgs(hi, asst(web)), // a paused turn goes back like that
	},
	{
		name: "final assistant content cannot end with trailing whitespace", rule: "prefill-whitespace",
		bad:  msgs(hi, `{"role":"assistant","content":"so "}`),
		want: "messages: final assistant content cannot end with trailing whitespace",
		good: msgs(hi, `{"role":"assistant","content":"so "}`, hi),
	},
}

var cacheRules = []rule{
	{
		name: "A maximum of 4 blocks with cache_control may be provided", rule: "cache-markers",
		bad: with(marked5m+`,"system":[{"type":"text","text":"s",`+marked5m+`}],"tools":[{"name":"a",`+marked5m+`},{"name":"b",`+marked5m+`}]`,
			user(`{"type":"text","text":"x",`+marked5m+`}`)),
		want: "cache_control: A maximum of 4 blocks with cache_control may be provided. Found 5.",
		good: with(`"system":[{"type":"text","text":"s",`+marked5m+`}],"tools":[{"name":"a",`+marked5m+`},{"name":"b",`+marked5m+`}]`,
			user(`{"type":"text","text":"x",`+marked5m+`}`)),
	},
	{
		name: "a ttl=1h cache_control block must not come after a ttl=5m cache_control block", rule: "cache-ttl-order",
		bad: with(`"system":[{"type":"text","text":"s",`+marked5m+`}]`,
			user(say, `{"type":"text","text":"x",`+marked1h+`}`)),
		want: "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
			"Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
		good: with(`"system":[{"type":"text","text":"s",`+marked1h+`}]`,
			user(say, `{"type":"text","text":"x",`+marked5m+`}`)),
	},
	{
		name: "cache_control cannot be set for empty text blocks", rule: "cache-empty-text",
		bad:  msgs(user(say, `{"type":"text","text":"",`+marked5m+`}`)),
		want: "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
		good: msgs(user(say, `{"type":"text","text":".",`+marked5m+`}`)),
	},
	{
		name: "thinking.cache_control Extra inputs are not permitted", rule: "cache-thinking",
		bad:  msgs(hi, asst(`{"type":"thinking","thinking":"hm","signature":"s",`+marked5m+`}`, say), hi),
		want: "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
		good: msgs(hi, asst(think, `{"type":"text","text":"x",`+marked5m+`}`), hi),
	},
}

var paramRules = []rule{
	{
		name: "Tool names must be unique", rule: "tool-name-duplicate",
		bad:  with(`"tools":[{"name":"a"},{"name":"a"}]`, hi),
		want: "tools: Tool names must be unique.", good: with(`"tools":[{"name":"a"},{"name":"b"}]`, hi),
	},
}

var serverRules = []rule{
	{
		name: "unexpected tool_use_id found in web_search_tool_result blocks", rule: "server-tool-result-unexpected",
		bad: msgs(hi, asst(found, say), hi),
		want: "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. " +
			"Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
		good: msgs(hi, asst(web, found, say), hi),
	},
	{
		name: "web_search tool use was found without a corresponding web_search_tool_result block",
		rule: "server-tool-open",
		bad:  msgs(hi, asst(web, use1), user(res1, say)),
		want: "messages.2: `web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
		good: msgs(hi, asst(web, use1), user(res1), asst(found, say), hi),
	},
}

var compactionRules = []rule{
	{
		name: "compaction_block_misplaced", rule: "compaction-misplaced",
		bad:  msgs(hi, asst(sign), hi),
		want: "messages.1.content.0: compaction_block_misplaced: `compaction` must be the first block of the first message",
		// without signature it follows what it sums up
		good: msgs(hi, asst(`{"type":"compaction","content":"so far"}`, say), hi),
	},
	{
		name: "only one compaction block", rule: "compaction-duplicate",
		bad: msgs(asst(sign, sign), hi), want: "messages.0.content.1: only one `compaction` block may be provided",
		good: msgs(asst(sign), hi),
	},
}

// documentedRules reads the names from the table in the package documentation.
func documentedRules(t *testing.T) []string {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	must(t, err)
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z0-9]+(?:-[a-z0-9]+)+) `).FindAllStringSubmatch(string(doc), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestCheckUnknownModel: nothing is held against a model that nobody knows.
func TestCheckUnknownModel(t *testing.T) {
	m, found := model.DefaultModels().Lookup("local-model-7b")
	if found {
		t.Fatal("the table has a row for local-model-7b")
	}
	body := with(`"temperature":0.2,"thinking":{"type":"disabled"}`, hi, sys("note"), yes)
	if vs := checkBody(t, body, m); len(vs) != 0 {
		t.Errorf("got %v, want none", vs)
	}
}
