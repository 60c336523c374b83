package pleat

import (
	"strconv"
	"strings"
)

// isEcho reports whether a block is a question to recall or its answer: what it says is
// found where it was said first.
func (s *finder) isEcho(bf *blockFacts) bool {
	if bf.call == 0 {
		return false
	}
	e := s.ledger.Entry(int(bf.call))
	if !isRecallTool(e.Tool) {
		return false
	}
	if e.Outcome == Unanswered {
		return true
	}
	// Other tools have such names too; ours answer in a form of their own.
	return strings.HasPrefix(blockText(s.t.Block(e.Result)), recallMark)
}

// again is how a stub says to get a result back. What unfolding gave is got back from
// where it came from, by the same call: a handle of a handle of a handle would make the
// model go through all of them. Its own handle still gives back the bytes as they were.
func (s *finder) again(bf *blockFacts, recall func(handle string) string) func(handle string) string {
	if recall == nil || bf.kind != KindToolResult || bf.call == 0 || !s.isEcho(bf) {
		return recall
	}
	e := s.ledger.Entry(int(bf.call))
	call, _ := s.t.Block(e.Call).(ToolCall)
	shown, ok := strings.CutPrefix(blockText(s.t.Block(e.Result)), recallMark+ToolUnfold+" ")
	origin, _, _ := strings.Cut(shown, ":")
	if _, known := s.index.at(parseHandle(origin)); !ok || !known {
		return recall // a search, or words of somebody else's tool
	}
	args, err := readArgs(ToolUnfold, call.Input.String())
	if err != nil {
		return recall
	}
	part, ok := unfoldedPart(args)
	if !ok || recall(origin) == "" {
		return recall
	}
	return func(string) string { return recallCall(recall).with(origin, part...) }
}

// unfoldedPart writes the arguments of an unfold call that choose a part, if they are
// short enough for a stub.
func unfoldedPart(a recallArgs) (args []string, ok bool) {
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
