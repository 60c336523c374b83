package conv

import (
	"github.com/pleat-dev/pleat/transcript"
)

// turnOf is the number of the model's answer that a message belongs to or follows;
// 0: before the first.
func (c *Conversation) TurnOf(message int) int {
	n := 0
	for i := 0; i <= message; i++ {
		if c.Facts[i].Role == transcript.RoleAssistant && (i == 0 || c.Facts[i-1].Role != transcript.RoleAssistant) {
			n++
		}
	}
	return n
}
