package recall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
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

// Tools returns the definitions of the tools by which a model gets back what was folded and
// takes part in what is kept. They are given to the model from the first request on and
// never change, so that the tool list keeps its bytes. [Answer] answers the calls.
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
			`"outcome":{"type":"array","items":{"type":"string","enum":["ok","error","running","unanswered"]}},` +
			`"text":{"type":"string","description":"Calls with this text in their arguments or error line."},` +
			`"effects":{"type":"boolean","description":"Only calls that may have changed something."},` +
			`"files":{"type":"boolean","description":"All changed files, by name, instead of the calls."},` +
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
// session, also with a prefix as in mcp__pleat__unfold.
func isRecallTool(name string) bool {
	name = name[strings.LastIndexAny(name, "_.:/")+1:]
	return name == ToolUnfold || name == ToolSearch || name == ToolLedger
}

// isHead reports whether message i belongs to the system prompt, which the model has before
// it anyway: it is of the client that began the session, and another one with the same
// first words may have continued it.
func (f *Finder) isHead(i int) bool {
	for _, m := range f.Facts[:i+1] {
		if m.Role != transcript.RoleSystem && m.Role != transcript.RoleDeveloper {
			return false
		}
	}
	return true
}

// isEcho reports whether a block is a call of a recall tool or its answer, which only repeats
// what was said before.
func (f *Finder) isEcho(bf *conv.BlockFacts) bool {
	if bf.Call == 0 {
		return false
	}
	e := f.Ledger.Entry(int(bf.Call))
	if !isRecallTool(e.Tool) {
		return false
	}
	if e.Outcome == toolcall.Unanswered {
		return true
	}
	// Other tools have these names too; only ours begin their answers like this.
	return strings.HasPrefix(transcript.BlockText(f.Transcript.Block(e.Result)), mark)
}

// OriginCall returns how a stub of a block says to get it back. What an unfold call answered
// is got back from its origin by the same call: a handle of a handle of a handle would make
// the model go through all of them. Its own handle still gives back the same bytes.
func (f *Finder) OriginCall(bf *conv.BlockFacts, recall func(handle string) string) func(handle string) string {
	if recall == nil || bf.Kind != transcript.KindToolResult || bf.Call == 0 || !f.isEcho(bf) {
		return recall
	}
	e := f.Ledger.Entry(int(bf.Call))
	call, _ := f.Transcript.Block(e.Call).(transcript.ToolCall)
	shown, ok := strings.CutPrefix(transcript.BlockText(f.Transcript.Block(e.Result)), mark+ToolUnfold+" ")
	origin, _, _ := strings.Cut(shown, ":")
	if _, known := f.Index.At(conv.ParseHandle(origin)); !ok || !known {
		return recall // a search, or another program's tool
	}
	a, err := readArgs(ToolUnfold, call.Input.String())
	if err != nil {
		return recall
	}
	part, ok := unfoldedPart(a)
	if !ok || recall(origin) == "" {
		return recall
	}
	return func(string) string { return Call(recall).with(origin, part...) }
}

// unfoldedPart writes the arguments of an unfold call that choose a part, if they are
// short enough for a stub.
func unfoldedPart(a args) (args []string, ok bool) {
	size := 0
	for _, name := range []string{"lines", "bytes", "pattern"} {
		if v := a.text(name); v != "" {
			args = append(args, name+"="+strconv.Quote(v))
			size += len(v)
		}
	}
	if n := a.number("column"); n > 1 {
		args = append(args, "column="+strconv.Itoa(n))
	}
	if a.flag("raw") {
		args = append(args, "raw=true")
	}
	return args, size <= 40
}
