package fold

import (
	"time"
)

func DefaultPolicy() Policy {
	return Policy{
		Name: "default", Doc: "pleat's own: spill at birth; then supersede, collapse, mask, snip, digest, squeeze until half the window is free",
		Levers:     []Lever{LeverSpill, LeverSupersede, LeverCollapse, LeverMask, LeverSnip, LeverDigest, LeverSqueeze},
		Guaranteed: true,
		Spill: Spill{
			Chars: 50_000, Tools: shellLimit(30_000), Message: 200_000, Preview: 2_000, Window: 4,
			Exempt: recallTools,
		},
		Mask:     Mask{Keep: 3, Min: 120},
		Collapse: Collapse{Rounds: 4},
		Snip:     Snip{Above: 50, Head: 3, Tail: 47},
		Digest:   DigestBy{Keep: 8, Fill: true, Breaker: 3, Retries: 1},
		Restore:  Restore{Files: 5, PerFile: 5_000, Total: 50_000, State: true},
		Reactive: Reactive{Tail: 5, Retries: 1},
	}
}

// shellLimit gives the tools that run commands a limit of their own: their output is
// long more often than it is worth reading.
func shellLimit(n int) map[string]int {
	m := make(map[string]int)
	for _, name := range []string{"bash", "Bash", "shell", "exec_command", "run_shell_command", "local_shell"} {
		m[name] = n
	}
	return m
}

// recallTools answer from the store. Their results are paged, so they are never
// spilled; folding one leads back to the handle it came from.
var recallTools = []string{"unfold", "search", "ledger"}

func bookPolicy() Policy {
	return Policy{
		Name: "book", Doc: "when red, mask all but 3 results; still red, summarize all but 6 messages and the first; then give up with a warning",
		Budget:     Budget{Yellow: Share(0.60), Red: Share(0.80)},
		Levers:     []Lever{LeverMask, LeverDigest},
		UntilGreen: true,
		Mask:       Mask{Keep: 3, All: true, Format: "[tool_result elided; call_id={call_id}; original_tokens={tokens}]"},
		Digest: DigestBy{
			Keep: 6, Words: 1_000, Trust: true,
			Format: "[session summary — {n} turns replaced]\n{summary}",
			Prompt: "Name every tool call with a one-line outcome, in order. Keep facts found, open questions, unfinished work and the user's wishes. Invent nothing. Plain prose, at most 1,000 words.",
		},
	}
}

func thresholdPolicy() Policy {
	return Policy{
		Name: "threshold", Doc: "at 75 % of 60,000 tokens, replace all but the newest 8 messages by a summary and its acknowledgement",
		Budget:     Budget{Window: 60_000, Red: Share(0.75)},
		Levers:     []Lever{LeverDigest},
		UntilGreen: true,
		Digest: DigestBy{
			Keep: 8, NoHead: true, Tokens: 1_500, ZeroTemp: true, Trust: true,
			Format: "<conversation_summary>\n{summary}\n</conversation_summary>",
			Ack:    "Understood. Continuing from that summary.",
			Prompt: "Keep exactly: the user's goal, every standing constraint and prohibition, decisions, and each path, identifier, number and error message. Outcomes of tool calls, not their transcripts. Dense and factual, no praise, nothing about the summary itself.",
		},
	}
}

func threeLayerPolicy() Policy {
	return Policy{
		Name: "three-layer", Doc: "placeholders for all but 3 results every turn; at 50,000 tokens (characters / 4) everything becomes a summary pair; compact on request",
		Budget:        Budget{Window: 200_000, Red: Tokens(50_000)},
		CharsPerToken: 4,
		Levers:        []Lever{LeverMask, LeverDigest},
		EveryTurn:     []Lever{LeverMask},
		UntilGreen:    true,
		Mask:          Mask{Keep: 3, Min: 101, All: true, Format: "[Previous: used {tool}]"},
		Digest: DigestBy{
			Whole: true, NoHead: true, Tokens: 2_000, Source: 80_000, Trust: true,
			Format: "[Compressed]\n\n{summary}", Ack: "Understood. Continuing.",
		},
		Transcripts: ".transcripts",
	}
}

func fourLeverPolicy() Policy {
	p := threeLayerPolicy()
	p.Name = "four-lever"
	p.Doc = "large outputs to files at birth; placeholders for all but 3 results, file reads excepted; at 50,000 tokens everything becomes one summary message"
	p.Levers = []Lever{LeverSpill, LeverMask, LeverDigest}
	p.Spill = Spill{
		Chars: 50_000, Tools: shellLimit(30_000), Preview: 2_000, Dir: ".task_outputs/tool-results",
		Format: persistedOutput,
	}
	p.Mask = Mask{Keep: 3, All: true, Exempt: []string{"read_file"}, Format: "[Previous: used {tool}]"}
	p.Digest.Ack = ""
	return p
}

const persistedOutput = "<persisted-output>\nOutput too large ({size}). Full output saved to: {path}\nPreview (first 2.0KB):\n{preview}\n</persisted-output>"

func fourLayerPolicy() Policy {
	return Policy{
		Name: "four-layer", Doc: "results of a message above 200,000 characters to files; above 50 messages the middle goes; placeholders for all but 3 results; then one summary, at window − output − 13,000",
		Budget: Budget{Red: Level{}, Buffer: Tokens(13_000)},
		Levers: []Lever{LeverSpill, LeverSnip, LeverMask, LeverCollapse, LeverDigest},
		// The three that call no model run before every request.
		EveryTurn:  []Lever{LeverSnip, LeverMask},
		UntilGreen: true,
		Spill:      Spill{Message: 200_000, Preview: 2_000, Dir: ".task_outputs/tool-results", Format: persistedOutput},
		Snip:       Snip{Above: 50, Head: 3, Tail: 47, Format: "[snipped {n} messages from conversation middle]", Main: true},
		Mask:       Mask{Keep: 3, Min: 121, All: true, Format: "[Earlier tool result compacted. Re-run if needed.]", Idle: time.Hour},
		Collapse:   Collapse{Only: true}, // off; with rounds set it takes the place of the automatic summary
		Digest: DigestBy{
			Whole: true, NoHead: true, Tokens: 20_000, Retries: 2, Breaker: 3, Notes: true, EndsTurn: true, Trust: true,
			Format: "[Compacted]\n\n{summary}",
			Prompt: "Current goals, important findings, changed files, what remains, the user's constraints. Reason in an analysis tag first; only the summary tag is kept. Text only: call no tools.",
		},
		Restore:     Restore{Files: 5, PerFile: 5_000, Total: 50_000, State: true},
		Reactive:    Reactive{Tail: 5, Retries: 1, Format: "[Reactive compact]\n\n{summary}"},
		Transcripts: ".transcripts",
	}
}

func truncatePolicy() Policy {
	return Policy{
		Name: "truncate", Doc: "when red, drop the first half of the conversation, legally: the baseline to beat",
		Levers: []Lever{LeverTruncate}, UntilGreen: true,
	}
}

func nonePolicy() Policy {
	return Policy{Name: "none", Doc: "change nothing"}
}
