package policy

import (
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// FourLayer snips and masks before every request and makes one summary when the window is
// nearly full.
func FourLayer() fold.Policy {
	snip := lever.Snip{Above: 50, Head: 3, Tail: 47, Stub: "[snipped {n} messages from conversation middle]", Main: true}
	mask := lever.Mask{Keep: 3, Min: 121, All: true, Unseen: true, Stub: "[Earlier tool result compacted. Re-run if needed.]"}
	summarize := lever.Summarize{
		Whole: true, Tokens: 20_000, Stub: "[Compacted]\n\n{summary}",
		Restore: fold.Restore{Files: 5, PerFile: 5_000, Total: 50_000, State: true},
		Ask: fold.Ask{
			Retries: 2, Breaker: 3, Notes: true, EndsTurn: true,
			Prompt: "Current goals, important findings, changed files, what remains, the user's constraints. Reason in an analysis tag first; only the summary tag is kept. Text only: call no tools.",
		},
	}
	refused := summarize
	refused.Whole, refused.Keep, refused.Stub = false, 5, "[Reactive compact]\n\n{summary}"
	return fold.Policy{
		Name:        "four-layer",
		Doc:         "results of a message above 200,000 characters to files; above 50 messages the middle goes; placeholders for all but 3 results; then one summary, at window − output − 13,000",
		Budget:      fold.Budget{Buffer: fold.Tokens(13_000)},
		FoldHead:    true,
		Transcripts: ".transcripts",
		AtBirth: fold.Steps{lever.Spill{
			Message: 200_000, Preview: 2_000, Dir: ".task_outputs/tool-results", Stub: persistedOutput,
		}},
		EveryTurn: fold.Steps{snip, mask},
		// Collapse is off; with rounds set it takes the place of the automatic summary.
		AtRed:     fold.Steps{snip, mask, lever.Collapse{Only: true}, summarize},
		OnRefusal: fold.Steps{snip, mask, lever.Collapse{Only: true, Keep: 5}, refused},
		WhenIdle:  fold.Steps{mask},
		IdleAfter: time.Hour,
	}
}
