package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// truncate drops the first half of the conversation.
func truncate() fold.Policy {
	return fold.Policy{
		Name:  "truncate",
		Doc:   "when red, drop the first half of the conversation, legally: the baseline to beat",
		AtRed: fold.Steps{lever.Truncate{}},
	}
}

// None never changes anything.
func None() fold.Policy {
	return fold.Policy{Name: "none", Doc: "change nothing", AtRed: fold.Steps{lever.Nothing{}}}
}
