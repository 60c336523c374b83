package conv

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// clearings are what clients write over old results to make room. They are known from the beginning
// and the end of the text; an empty end means that the beginning is all of it.
var clearings = []struct{ client, begins, ends string }{
	{"Claude Code, opencode, Qwen Code", "[Old tool result content cleared]", ""},
	{"Claude Code", "<persisted-output>\n", "\n</persisted-output>"},
	{"Gemini CLI", "<tool_output_masked>\n", "\n</tool_output_masked>"},
}

// isCleared reports whether a block is a result that a client has cleared.
func isCleared(b transcript.Block) bool {
	if b.Kind() != transcript.KindToolResult {
		return false
	}
	said := strings.TrimSpace(transcript.BlockText(b))
	for _, c := range clearings {
		if said == c.begins || c.ends != "" && strings.HasPrefix(said, c.begins) && strings.HasSuffix(said, c.ends) {
			return true
		}
	}
	return false
}

// Cleared reports whether a message is an earlier one whose results a client has cleared since.
func Cleared(was, now transcript.Message) bool {
	said := SaidIn(now, 0)
	more, same := SaidIn(was, 0).Has(said, How{})
	return same && len(more) == 0 && slices.ContainsFunc(said.blocks, func(b spoken) bool { return b.cleared })
}
