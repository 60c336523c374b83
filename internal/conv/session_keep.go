package conv

import (
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// selectCalls adds the handles of the results.
func (c *Conversation) SelectCalls(f ledger.Filter) []ledger.Entry {
	out := c.Ledger.Select(f)
	for i, e := range out {
		if e.Outcome != toolcall.Unanswered {
			out[i].Handle = c.Facts[e.Result.Message].Blocks[e.Result.Block].Name.String()
		}
	}
	return out
}
