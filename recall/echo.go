package recall

import (
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// isEcho reports whether a block is a question to recall or its answer: what it says is
// found where it was said first.
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
	// Other tools have such names too; ours answer in a form of their own.
	return strings.HasPrefix(transcript.BlockText(f.Transcript.Block(e.Result)), mark)
}

// again is how a stub says to get a result back. What unfolding gave is got back from
// where it came from, by the same call: a handle of a handle of a handle would make the
// model go through all of them. Its own handle still gives back the bytes as they were.
func (f *Finder) OriginCall(bf *conv.BlockFacts, recall func(handle string) string) func(handle string) string {
	if recall == nil || bf.Kind != transcript.KindToolResult || bf.Call == 0 || !f.isEcho(bf) {
		return recall
	}
	e := f.Ledger.Entry(int(bf.Call))
	call, _ := f.Transcript.Block(e.Call).(transcript.ToolCall)
	shown, ok := strings.CutPrefix(transcript.BlockText(f.Transcript.Block(e.Result)), mark+ToolUnfold+" ")
	origin, _, _ := strings.Cut(shown, ":")
	if _, known := f.Index.At(conv.ParseHandle(origin)); !ok || !known {
		return recall // a search, or words of somebody else's tool
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
