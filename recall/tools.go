package recall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// The names of the recall tools.
const (
	ToolUnfold  = "unfold"
	ToolSearch  = "search"
	ToolLedger  = "ledger"
	ToolNote    = "note"
	ToolPin     = "pin"
	ToolCompact = "compact"
	ToolSnip    = "snip" // only with policies that snip
)

// Tools returns the definitions of the tools by which a model gets back what was folded and
// takes part in what is kept. They are given to the model from the first request on and
// never change, so that the tool list keeps its bytes. [Answer] answers the calls.
func Tools() []model.Tool { return slices.Clone(recallDefinitions) }

// SnipTool returns the definition of one more, for sessions whose policy snips: the model takes
// the middle of the conversation out of view by itself.
func SnipTool() model.Tool {
	return model.Tool{
		Name: ToolSnip,
		Description: "Takes the middle of this conversation out of view: its first messages and the newest ones " +
			"stay. Use it when older work no longer matters for what you do now. What is taken out stays on record.",
		Schema: `{"type":"object","properties":{` +
			`"keep":{"type":"integer","description":"How many of the newest messages stay; 10 if you do not say."}}}`,
	}
}

// ToolOf returns which of the [Tools] a definition is, as [Answer] knows it; empty: none of
// them. It is one that has its description, and its name at the end of its own: a program
// with tools of the same names puts a prefix before ours.
func ToolOf(t model.Tool) string {
	for _, own := range append(Tools(), SnipTool()) {
		if t.Description == own.Description && strings.HasSuffix(t.Name, own.Name) {
			return own.Name
		}
	}
	return ""
}

// The texts are part of every request: each sentence has to earn its tokens by making
// models call the tools well. [Answer] takes more arguments than are declared; answers name
// them where they are of use.
var recallDefinitions = []model.Tool{
	{
		Name: ToolUnfold,
		Description: "Shows what was folded away, by its handle in a stub, search or ledger. " +
			"Use it instead of running a command again.",
		Schema: `{"type":"object","properties":{` +
			`"handle":{"type":"string","description":"or #call, or path:FILE as it stands"},` +
			`"lines":{"type":"string","description":"\"120-180\""},` +
			`"pattern":{"type":"string","description":"RE2"},` +
			`"column":{"type":"integer"}},` +
			`"required":["handle"]}`,
	},
	{
		Name: ToolSearch,
		Description: "Finds lines in all that was said and done here, folded or not. " +
			"Ask before you guess a name, value or decision, or read a file again. " +
			"Give words that stand near the answer; file:a.go tool:bash by:user after:HANDLE narrow.",
		Schema: `{"type":"object","properties":{` +
			`"queries":{"type":"array","items":{"type":"string"}}},` +
			`"required":["queries"]}`,
	},
	{
		Name:        ToolLedger,
		Description: "Lists tool calls: what each touched, how it ended, its handle. Ask before doing anything twice.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"file, folder or pattern with *"},` +
			`"kind":{"type":"string","enum":["read","create","edit","delete","run"]},` +
			`"outcome":{"type":"string","enum":["ok","error"]},` +
			`"text":{"type":"string"},` +
			`"files":{"type":"boolean","description":"changed files"},` +
			`"to":{"type":"integer"}}}`,
	},
	{
		Name:        ToolNote,
		Description: "Keeps a note that is never folded. Empty text removes it, no arguments list all.",
		Schema:      `{"type":"object","properties":{"key":{"type":"string"},"text":{"type":"string"}}}`,
	},
	{
		Name:        ToolPin,
		Description: "Keeps a short text word for word in view: a rule, a goal.",
		Schema: `{"type":"object","properties":{"text":{"type":"string"},"remove":{"type":"boolean"}},` +
			`"required":["text"]}`,
	},
	{
		Name:        ToolCompact,
		Description: "Folds old parts away now, best between two tasks. Focus: what matters next.",
		Schema:      `{"type":"object","properties":{"focus":{"type":"string"}}}`,
	},
}
