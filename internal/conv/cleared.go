package conv

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/transcript"
)

// isCleared reports whether a block is a result that a client has cleared to make room.
func isCleared(b transcript.Block) bool {
	return b.Kind() == transcript.KindToolResult && annotate.Cleared(strings.TrimSpace(transcript.BlockText(b)))
}

// Cleared reports whether a message is an earlier one whose results a client has cleared since.
func Cleared(was, now transcript.Message) bool {
	said := SaidIn(now, 0)
	more, same := SaidIn(was, 0).Has(said, How{})
	return same && len(more) == 0 && slices.ContainsFunc(said.blocks, func(b spoken) bool { return b.cleared })
}
