package tokens

import (
	"github.com/pleat-dev/pleat/transcript"
)

// TokenCounter counts tokens. Estimates never fail.
type MessageCounter interface {
	CountText(text string) int
	CountBlock(b transcript.Block) int
	CountMessage(m transcript.Message) int
}
