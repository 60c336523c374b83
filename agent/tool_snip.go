package agent

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/recall"
)

// snipTool lets the model fold the middle of the conversation by itself, where its policy
// does so before every request; nil: the policy does not.
func snipTool(p fold.Policy, child bool) []Tool {
	for _, l := range p.EveryTurn {
		if s, ok := l.(lever.Snip); ok && !(s.Main && child) {
			return []Tool{recallTool(recall.SnipTool())}
		}
	}
	return nil
}
