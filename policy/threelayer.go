package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// threeLayer follows a lesson with three layers of compression.
//
//  1. Before every request, silently: all results but the newest 3 become placeholders, if
//     they have more than 100 characters.
//  2. Above 50,000 tokens, counted as characters / 4: the transcript is written to
//     .transcripts, the model summarizes the first 80,000 characters of what is left, as JSON, in
//     2,000 tokens, and a pair takes the place of everything.
//  3. The tool compact does the same when the model calls it.
//
// What differs: "Continue." follows the acknowledgement, as in [threshold]; the round of a compact call stays, with the
// results beside it; in a window of less than about 57,000 tokens, red is at 77.5 % of it.
func threeLayer() fold.Policy {
	mask := lever.Mask{Keep: 3, Min: 101, All: true, Unseen: true, Stub: "[Previous: used {tool}]"}
	return fold.Policy{
		Name: "three-layer",
		Doc: "placeholders for all but 3 results every turn; at 50,000 tokens (characters / 4) " +
			"everything becomes a summary pair; compact on request",
		Budget:        fold.Budget{Window: 200_000, Red: fold.Tokens(50_000)},
		CharsPerToken: 4,
		FoldHead:      true,
		Transcripts:   ".transcripts",
		EveryTurn:     fold.Steps{mask},
		AtRed: fold.Steps{mask, lever.Summarize{
			Whole: true, Tokens: 2_000, Stub: "[Compressed]\n\n{summary}", Ack: "Understood. Continuing.",
			Restore: fold.Restore{State: true}, Ask: continuity,
		}},
	}
}

// continuity is how the summary is asked for here and in [FourLever].
var continuity = fold.Ask{
	Source: 80_000, JSON: true,
	Opening: "Summarize this conversation so that the work can go on from the summary alone: " +
		"what was asked for, what was done, how things stand, what was decided, what comes next. " +
		"Answer with text and call no tools.",
}
