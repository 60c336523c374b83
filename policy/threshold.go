package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// threshold follows a lesson on summarizing without losing the plot.
//
//  1. Red at 75 % of a window of 60,000 tokens, or of the model's if that is smaller.
//  2. All but the newest 8 messages become a pair: the summary and its acknowledgement. The
//     cut moves back where it would part a call from its result. The system prompt is never
//     part of it.
//  3. The summarizer gets temperature 0, 1,500 tokens and a list of what to keep exactly.
//
// What differs: the turns reach the summarizer as text, in the form of [Book], because providers refuse calls of
// tools that the request does not define; a model that is known to refuse a temperature
// gets none; "Continue." follows the acknowledgement where an answer would, because some providers refuse the
// request without it.
func threshold() fold.Policy {
	return fold.Policy{
		Name: "threshold",
		Doc: "at 75 % of 60,000 tokens, replace all but the newest 8 messages by a summary and its " +
			"acknowledgement",
		Budget:   fold.Budget{Window: 60_000, Red: fold.Share(0.75)},
		FoldHead: true,
		AtRed: fold.Steps{lever.Summarize{
			Keep: 8, Tokens: 1_500,
			Stub: "<conversation_summary>\n{summary}\n</conversation_summary>",
			Ack:  "Understood. Continuing from that summary.", Restore: fold.Restore{State: true},
			Ask: fold.Ask{
				ZeroTemp: true,
				Prompt:   thresholdPrompt,
				Closing:  "Write the digest of everything above now.",
			},
		}},
	}
}

const thresholdPrompt = "You are given the first part of a conversation. " +
	"Write the digest from which an agent goes on with it.\n\n" +
	"These must be in it word for word: what the user wants to reach; every constraint and every prohibition that " +
	"still stands; what was decided; each file path, identifier, number and error message. Of tool calls say how " +
	"they came out and leave out what they printed. Dense and factual. No praise and no remarks about the digest. " +
	"Call no tools."
