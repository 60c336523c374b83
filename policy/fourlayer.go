package policy

import (
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// fourLayer follows a lesson with four layers, cheap ones first, and the numbers of the
// program that it describes.
//
//   - When tools answer: above 200,000 characters in one message, the largest results go to
//     .task_outputs/tool-results until the rest fits; a marker with the first 2,000 characters
//     stays of each.
//   - Before every request: above 50 messages, the first 3 and the newest 47 stay and a line
//     takes the place of the rest; then all results but the newest 3 become placeholders, if
//     they have more than 120 characters. After a pause of 60 minutes, when nothing is cached any
//     more, all but the newest that a model has seen, however short.
//   - At window − output reserve − 13,000 tokens: the transcript is written to .transcripts and
//     one summary of at most 20,000 tokens takes the place of everything. Up to 5 files of
//     5,000 tokens, 50,000 in all, come back, and tasks, notes and skills. The request is
//     repeated twice if its stream breaks or its answer is a refusal, and with the oldest turns
//     left out if it is too long. After three failures in a row it is not made for a while.
//   - When the provider refuses the request as too long, once: a summary and the newest 5
//     messages.
//   - The tool compact makes the summary and ends the turn; the tool snip folds the middle.
//
// What differs: the round of a compact call stays, because a result without its call is
// refused; in a small window, red is never below half of it; 500 tokens of notes
// since the last summary, and since the user last asked for something, take the place of the next one, as that
// program's session memory does: the first message, that summary, what was typed since and the newest 5 messages stay.
func fourLayer() fold.Policy {
	snip := lever.Snip{
		Above: 50, Head: 3, Tail: 47, Stub: "[snipped {n} messages from conversation middle]", Main: true,
	}
	mask := lever.Mask{
		Keep: 3, Min: 121, All: true, Unseen: true, Stub: "[Earlier tool result compacted. Re-run if needed.]",
	}
	cold := lever.Mask{Keep: 1, All: true, Stub: mask.Stub}
	summarize := lever.Summarize{
		Whole: true, Keep: 5, Tokens: 20_000, Stub: "[Compacted]\n\n{summary}",
		Restore: fold.Restore{Files: 5, PerFile: 5_000, Total: 50_000, State: true},
		Ask: fold.Ask{
			Retries: 2, Breaker: 3, Notes: 500, EndsTurn: true, Answer: "[Compacted. History summarized.]", JSON: true,
			Prompt: fourLayerPrompt, Closing: fourLayerClosing,
		},
	}
	refused := summarize
	refused.Whole, refused.Stub = false, "[Reactive compact]\n\n{summary}"
	return fold.Policy{
		Name: "four-layer",
		Doc: "results of a message above 200,000 characters to files; above 50 messages the middle goes; " +
			"placeholders for all but 3 results; then one summary, at window − output − 13,000",
		Budget:      fold.Budget{Buffer: fold.Tokens(13_000)},
		FoldHead:    true,
		Transcripts: ".transcripts",
		AtBirth: fold.Steps{lever.Spill{
			Message: 200_000, Preview: 2_000, Dir: ".task_outputs/tool-results", Stub: persistedOutput,
		}},
		EveryTurn: fold.Steps{snip, mask},
		AtRed:     fold.Steps{snip, mask, summarize},
		OnRefusal: fold.Steps{snip, mask, refused},
		WhenIdle:  fold.Steps{snip, mask, cold},
		IdleAfter: time.Hour,
		Retries:   1,
	}
}

const fourLayerPrompt = `TEXT ONLY: a call of a tool is rejected, and the summary is lost with it.

You are given a conversation between a user and an agent as JSON. ` +
	`An agent will go on from your summary alone.

Think first, inside <analysis> tags: go through the conversation in order and note what belongs below. ` +
	`That part is thrown away. Then write the summary inside <summary> tags, in nine sections:

1. Goals: what the user asked for, and what they want now
2. Subject: the technologies and ideas that the work is about
3. Files: each file that was read, made or changed, what for, and what changed
4. Errors: what went wrong, and how it was mended
5. Findings: what was found out, and what was decided and why
6. The user's messages: what they said, with every constraint and prohibition word for word
7. Remaining work: what was asked for and is not done
8. Where things stand: what was being done last, exactly
9. Next step: only if it follows from what the user asked for

Copy paths, names, numbers and error texts exactly.`

const fourLayerClosing = "Write the analysis and the summary now. Remember: text only, no tool calls."
