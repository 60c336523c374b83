package conv

import (
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
)

func (c *Conversation) Prompt() int {
	for i := range c.Facts {
		if r := c.Facts[i].Role; r != transcript.RoleSystem && r != transcript.RoleDeveloper {
			return i
		}
	}
	return len(c.Facts)
}

// section is a model's digest as it stands on a page.
func (n *Narrative) Section() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("## Messages %d to %d in short (written by a model; names and numbers checked against them)\n%s", n.Start+1, n.End, n.Text)
}
