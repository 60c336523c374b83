package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// ThreeLayer masks before every request and replaces everything by a summary pair at red.
func ThreeLayer() fold.Policy {
	mask := lever.Mask{Keep: 3, Min: 101, All: true, Unseen: true, Stub: "[Previous: used {tool}]"}
	return fold.Policy{
		Name:          "three-layer",
		Doc:           "placeholders for all but 3 results every turn; at 50,000 tokens (characters / 4) everything becomes a summary pair; compact on request",
		Budget:        fold.Budget{Window: 200_000, Red: fold.Tokens(50_000)},
		CharsPerToken: 4,
		FoldHead:      true,
		Transcripts:   ".transcripts",
		EveryTurn:     fold.Steps{mask},
		AtRed: fold.Steps{mask, lever.Summarize{
			Whole: true, Tokens: 2_000, Stub: "[Compressed]\n\n{summary}", Ack: "Understood. Continuing.", Ask: fold.Ask{Source: 80_000},
		}},
	}
}
