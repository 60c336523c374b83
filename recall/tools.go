package recall

import (
	"slices"

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
)

// RecallTools returns the definitions of the tools by which a model gets back what was
// folded and takes part in what is kept. They are given to the model from the first
// request on and never change, so that the tool list stays the same bytes. Calls are
// answered by [Session.Recall].
func Tools() []model.Tool { return slices.Clone(recallDefinitions) }

// The texts are part of every request: each sentence has to earn its tokens by making
// models call the tools well.
var recallDefinitions = []model.Tool{
	{
		Name: ToolUnfold,
		Description: "Shows the exact original of something that was folded away from this conversation: tool output, messages, thinking. " +
			"Stubs, the ledger and search name it by its handle. Lines come with their numbers; what is too large comes in pages, and each page ends with the call for the next. " +
			"Use it instead of running a command again to see its old output.",
		Schema: `{"type":"object","properties":{` +
			`"handle":{"type":"string","description":"The handle, such as k3v9x0ab."},` +
			`"lines":{"type":"string","description":"Only these lines: \"120-180\", \"120-\" or \"120\"."},` +
			`"pattern":{"type":"string","description":"Only lines that match this regular expression (RE2), with two lines around each."},` +
			`"column":{"type":"integer","description":"Byte of the first line to begin with, to page through very long lines."},` +
			`"bytes":{"type":"string","description":"Only these bytes, counted from 0, the end not included: \"0-4096\"."},` +
			`"raw":{"type":"boolean","description":"The JSON as it was on the wire instead of the text."}},` +
			`"required":["handle"]}`,
	},
	{
		Name: ToolSearch,
		Description: "Finds lines in everything said and done earlier in this conversation, also what is folded away. Ask before you guess a name, number, path or decision, or read a file again. " +
			"Give words that would stand near the answer, not a sentence; names are also found by their parts (http finds parseHTTPRequest). " +
			"Ask all your questions in one call. Each hit has a handle and line numbers for unfold, and says if something later superseded it.",
		Schema: `{"type":"object","properties":{` +
			`"queries":{"type":"array","items":{"type":"string"},"description":"One query for each question, for example [\"upload size limit bytes\",\"why retry removed\"]."},` +
			`"hits":{"type":"integer","description":"Most places for each query; by default as many as a page has room for."}},` +
			`"required":["queries"]}`,
	},
	{
		Name: ToolLedger,
		Description: "Lists the tool calls of this conversation, complete and exact: what each touched, how it ended, the handle of its result. " +
			"Use it to see which files were changed, what was run and whether it passed, before doing anything a second time. Without arguments it lists the newest calls.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Calls that touched this file, directory, or pattern with *."},` +
			`"tool":{"type":"string","description":"Calls of this tool."},` +
			`"kind":{"type":"array","items":{"type":"string","enum":["read","create","edit","delete","run","net","other"]}},` +
			`"outcome":{"type":"array","items":{"type":"string","enum":["ok","error","unanswered"]}},` +
			`"text":{"type":"string","description":"Calls with this text in their arguments or error line."},` +
			`"effects":{"type":"boolean","description":"Only calls that may have changed something."},` +
			`"from":{"type":"integer","description":"Number of the first call."},` +
			`"to":{"type":"integer","description":"Number of the last call."}}}`,
	},
	{
		Name:        ToolNote,
		Description: "Writes a note to yourself that is kept outside of the conversation and never folded away. A note with the same key replaces the old one, an empty text removes it. Without arguments it lists your notes.",
		Schema: `{"type":"object","properties":{` +
			`"key":{"type":"string","description":"Short name of the note."},` +
			`"text":{"type":"string"}}}`,
	},
	{
		Name:        ToolPin,
		Description: "Keeps a text word for word in view for the rest of the conversation: a rule, a goal, a value that must not be lost. Keep it short.",
		Schema: `{"type":"object","properties":{` +
			`"text":{"type":"string"},` +
			`"remove":{"type":"boolean","description":"Let go of this pinned text."}},` +
			`"required":["text"]}`,
	},
	{
		Name:        ToolCompact,
		Description: "Folds away old parts of this conversation now, to make room. Nothing is lost: unfold and search bring it back. Good moments are between two tasks. The focus says what matters most for what comes next.",
		Schema:      `{"type":"object","properties":{"focus":{"type":"string"}}}`,
	},
}

// isRecallTool reports whether a tool's name is one of those that answer from the
// session, with or without what a client puts before it.
func isRecallTool(name string) bool {
	name = name[lastSeparator(name):]
	return name == ToolUnfold || name == ToolSearch || name == ToolLedger
}

// lastSeparator is where the tool's own name begins in names like mcp__pleat__unfold.
func lastSeparator(name string) int {
	for i := len(name); i > 0; i-- {
		switch name[i-1] {
		case '_', '.', ':', '/':
			return i
		}
	}
	return 0
}
