package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// Book follows a book's chapter on compaction: mask before you summarize.
//
//  1. Red at 80 % of the window (yellow at 60 %): all results but the newest 3 become
//     placeholders. The calls stay.
//  2. Still red: the model summarizes everything between the first message, which stays, and
//     the newest 6. It reads the turns with the placeholders in them.
//  3. Still red: a warning, and the request goes out as it is.
//
// What differs: the newest messages begin where no round is cut, so one more may stay; what
// a summary replaces can be unfolded; beside it stand the agent's notes and task list, and what calls did to the
// world, as beside the summaries of the other policies.
func Book() fold.Policy {
	return fold.Policy{
		Name: "book",
		Doc: "when red, mask all but 3 results; still red, summarize all but 6 messages and the first; " +
			"then give up with a warning",
		Budget: fold.Budget{Yellow: fold.Share(0.60), Red: fold.Share(0.80)},
		AtRed: fold.Steps{
			lever.Mask{
				Keep: 3, All: true, Unseen: true,
				Stub: "[tool_result elided; call_id={call_id}; original_tokens={tokens}]",
			},
			lever.Summarize{
				Keep: 6, Words: 1_000, Stub: "[session summary — {n} turns replaced]\n{summary}",
				Restore: fold.Restore{State: true}, // the notes
				Ask:     fold.Ask{Prompt: bookPrompt, Opening: "Summarize this conversation."},
			},
		},
	}
}

const bookPrompt = "You condense turns of an agent's session. Your text takes their place in the agent's memory, " +
	`so it has to be right and to lack nothing.

Keep:
- what was learned: files that were read, with their paths; values that were worked out; decisions that were taken
- what is open: questions without an answer, work that was begun
- every tool call in its order, on a line of its own, with its arguments and how it came out
- what the user prefers and what the user forbids

Do not leave out a tool call. Do not add anything that the turns do not say. Do not write more than 1,000 words. ` +
	"Write plain prose and call no tools."
