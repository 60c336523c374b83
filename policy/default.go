package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// recallTools answer from the store. Their results come in pages, so they are never
// spilled. The stub of a folded one names the handle that its content came from.
var recallTools = []string{"unfold", "search", "ledger"}

// Default is pleat's own policy.
func Default() fold.Policy {
	restore := fold.Restore{Files: 5, PerFile: 5_000, Total: 50_000, State: true}
	steps := func(keep int) fold.Steps {
		return fold.Steps{
			lever.Shorten{Typed: 3, Injected: 8},
			lever.Aim{},
			lever.KeepReread{Files: 5, Tokens: 5_000},
			lever.Supersede{Keep: 3},
			lever.Collapse{Rounds: 4, Keep: keep},
			lever.Mask{Keep: 3, Min: 120},
			lever.Digest{Keep: keep, Fill: true, Spare: 1, Restore: restore, Ask: fold.Ask{Breaker: 3, Retries: 1}},
			lever.Squeeze{Restore: restore},
			lever.Refill{},
		}
	}
	return fold.Policy{
		Name: "default",
		Doc: "pleat's own: store oversized results immediately; then shorten, supersede, collapse, mask, digest, " +
			"squeeze until the view has a quarter of the window, of a small one half",
		AtBirth: fold.Steps{lever.Spill{
			Chars: 50_000, Tools: shellLimit(30_000), Message: 200_000, Preview: 2_000, Window: 4, Exempt: recallTools,
		}},
		AtRed:     steps(8),
		OnRefusal: steps(5),
	}
}
