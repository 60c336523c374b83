package recall

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
	for _, m := range f.Facts()[:i+1] {
		if m.Role != transcript.RoleSystem && m.Role != transcript.RoleDeveloper {
			return false
		}
	}
	return true
}

// isEcho reports whether a block is a call of a recall tool or its answer, which only repeats
// what was said before.
func (f *Finder) isEcho(bf *transcript.BlockFacts) bool {
	if bf.Call == 0 {
		return false
	}
	e := f.Ledger().Entry(int(bf.Call))
	if !isRecallTool(e.Tool) {
		return false
	}
	if e.Outcome == toolcall.Unanswered {
		return true
	}
	// Other tools have these names too; only ours begin their answers like this.
	return strings.HasPrefix(transcript.BlockText(f.block(e.Result)), mark)
}

// OriginCall returns how a stub of a block says to get it back. What an unfold call answered
// is got back from its origin by the same call: a handle of a handle of a handle would make
// the model go through all of them. Its own handle still gives back the same bytes.
func (f *Finder) OriginCall(
	ctx context.Context, bf *transcript.BlockFacts, recall func(handle string) string,
) (func(handle string) string, error) {
	f = f.reading(ctx)
	call := f.originCall(bf, recall)
	return call, f.read.err
}

func (f *Finder) originCall(bf *transcript.BlockFacts, recall func(handle string) string) func(handle string) string {
	if recall == nil || bf.Kind != transcript.KindToolResult || bf.Call == 0 || !f.isEcho(bf) {
		return recall
	}
	e := f.Ledger().Entry(int(bf.Call))
	call, _ := f.block(e.Call).(transcript.ToolCall)
	shown, ok := strings.CutPrefix(transcript.BlockText(f.block(e.Result)), mark+ToolUnfold+" ")
	origin, _, _ := strings.Cut(shown, ":")
	if _, known := f.Place(origin); !ok || !known {
		return recall // a search, or another program's tool
	}
	part, ok := unfoldedPart(readArgs(ToolUnfold, call.Input.String()))
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
