package policy

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

const persistedOutput = `<persisted-output>
Output too large ({size}). Full output saved to: {path}
Preview (first 2.0KB):
{preview}
</persisted-output>`

// fourLever follows a lesson with four levers.
//
//  0. When a tool answers: an output of more than 50,000 characters, of bash 30,000, is
//     written to .task_outputs/tool-results, and a marker with its first 2,000 characters
//     takes its place. The file can be read with read_file.
//  1. Before every request, silently: all results but the newest 3 become placeholders;
//     results of tools that read files stay.
//  2. Above 50,000 tokens: as in [ThreeLayer], with one summary message instead of a pair.
//  3. The tool compact does the same.
//
// What differs: as in ThreeLayer; and a placeholder is only used where it is shorter than
// the result.
func fourLever() fold.Policy {
	mask := lever.Mask{Keep: 3, All: true, Unseen: true, Exempt: []string{"@read"}, Stub: "[Previous: used {tool}]"}
	p := threeLayer()
	p.Name = "four-lever"
	p.Doc = "large outputs to files at birth; placeholders for all but 3 results, file reads excepted; " +
		"at 50,000 tokens everything becomes one summary message"
	p.AtBirth = fold.Steps{lever.Spill{
		Chars: 50_000, Tools: shellLimit(30_000), Preview: 2_000, Dir: ".task_outputs/tool-results",
		Stub: persistedOutput,
	}}
	p.EveryTurn = fold.Steps{mask}
	p.AtRed = fold.Steps{mask, lever.Summarize{
		Whole: true, Tokens: 2_000, Stub: "[Compressed]\n\n{summary}", Restore: fold.Restore{State: true}, Ask: continuity,
	}}
	return p
}
