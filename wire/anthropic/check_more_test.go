package anthropic

import (
	"os"
	"regexp"
	"testing"

	"github.com/pleat-dev/pleat/model"
)

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
