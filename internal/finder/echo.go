package finder

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/recall"
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
