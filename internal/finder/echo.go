package finder

import (
	"context"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/toolargs"
	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// isRecallTool reports whether a tool's name is one of those that answer from the
// session, also with a prefix as in mcp__pleat__unfold.
func isRecallTool(name string) bool {
	name = name[strings.LastIndexAny(name, "_.:/")+1:]
	return name == recall.ToolUnfold || name == recall.ToolSearch || name == recall.ToolLedger
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
	return strings.HasPrefix(transcript.BlockText(f.read.Block(e.Result)), fence.Answer)
}

// OriginCall returns how a stub of a block says to get it back. What an unfold call answered
// is got back from its origin by the same call: a handle of a handle of a handle would make
// the model go through all of them. Its own handle still gives back the same bytes.
func (f *Finder) OriginCall(
	ctx context.Context, bf *transcript.BlockFacts, how func(handle string) string,
) (func(handle string) string, error) {
	f = f.reading(ctx)
	call := f.originCall(bf, how)
	return call, f.read.Err
}

func (f *Finder) originCall(bf *transcript.BlockFacts, how func(handle string) string) func(handle string) string {
	if how == nil || bf.Kind != transcript.KindToolResult || bf.Call == 0 || !f.isEcho(bf) {
		return how
	}
	e := f.Ledger().Entry(int(bf.Call))
	call, _ := f.read.Block(e.Call).(transcript.ToolCall)
	shown, ok := strings.CutPrefix(transcript.BlockText(f.read.Block(e.Result)), fence.Answer+recall.ToolUnfold+" ")
	origin, _, _ := strings.Cut(shown, ":")
	if _, known := f.Place(origin); !ok || !known {
		return how // a search, or another program's tool
	}
	part, ok := unfoldedPart(toolargs.Read(call.Input.String(), "handle"))
	if !ok || how(origin) == "" {
		return how
	}
	return func(string) string { return Call(how).with(origin, part...) }
}

// unfoldedPart writes the arguments of an unfold call that choose a part, if they are
// short enough for a stub.
func unfoldedPart(a toolargs.Args) (args []string, ok bool) {
	size := 0
	for _, name := range []string{"lines", "pattern"} {
		if v := a.Text(name); v != "" {
			args = append(args, name+"="+strconv.Quote(v))
			size += len(v)
		}
	}
	if n := a.Number("column"); n > 1 {
		args = append(args, "column="+strconv.Itoa(n))
	}
	if a.Flag("raw") {
		args = append(args, "raw=true")
	}
	return args, size <= 40
}
