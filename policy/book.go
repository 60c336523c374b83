package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// Book masks old results when red; if it still is, it summarizes.
func Book() fold.Policy {
	return fold.Policy{
		Name:   "book",
		Doc:    "when red, mask all but 3 results; still red, summarize all but 6 messages and the first; then give up with a warning",
		Budget: fold.Budget{Yellow: fold.Share(0.60), Red: fold.Share(0.80)},
		AtRed: fold.Steps{
			lever.Mask{Keep: 3, All: true, Unseen: true, Stub: "[tool_result elided; call_id={call_id}; original_tokens={tokens}]"},
			lever.Summarize{
				Keep: 6, Words: 1_000, Stub: "[session summary — {n} turns replaced]\n{summary}",
				Ask: fold.Ask{Prompt: "Name every tool call with a one-line outcome, in order. Keep facts found, open questions, unfinished work and the user's wishes. Invent nothing. Plain prose, at most 1,000 words."},
			},
		},
	}
}
