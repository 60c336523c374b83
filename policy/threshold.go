package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// Threshold replaces everything but the newest messages by a summary and its
// acknowledgement.
func Threshold() fold.Policy {
	return fold.Policy{
		Name:     "threshold",
		Doc:      "at 75 % of 60,000 tokens, replace all but the newest 8 messages by a summary and its acknowledgement",
		Budget:   fold.Budget{Window: 60_000, Red: fold.Share(0.75)},
		FoldHead: true,
		AtRed: fold.Steps{lever.Summarize{
			Keep: 8, Tokens: 1_500,
			Stub: "<conversation_summary>\n{summary}\n</conversation_summary>", Ack: "Understood. Continuing from that summary.",
			Ask: fold.Ask{
				ZeroTemp: true,
				Prompt:   "Keep exactly: the user's goal, every standing constraint and prohibition, decisions, and each path, identifier, number and error message. Outcomes of tool calls, not their transcripts. Dense and factual, no praise, nothing about the summary itself.",
			},
		}},
	}
}
