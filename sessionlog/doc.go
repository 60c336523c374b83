// Package sessionlog reads the session files of other people's agents as pleat messages.
//
// [Open] finds the format from the content, never from a name, and returns a [Log]:
//
//	log, err := sessionlog.Open(file, nil)
//	…
//	defer log.Close()
//	for rec, err := range log.Records() {
//		…
//	}
//	info := log.Info() // complete after the loop
//
// It knows Claude Code, Codex, opencode, Gemini CLI, Copilot CLI and pi sessions, request
// bodies of Anthropic Messages, OpenAI Chat Completions and Responses, and tau-bench,
// SWE-agent and OpenHands trajectories. Files that hold several sessions are read one
// session at a time: [Options].Session and [Log.Sessions].
//
// # What a record is
//
// A [Record] is one message with at least one block. Formats write messages in many
// ways; these rules make them comparable:
//
//   - An answer of the model is one record, also where the log spreads it over lines
//     (Claude Code) or events (OpenHands). On the Responses wire, and so in Codex
//     rollouts, every item is a message of its own.
//   - The results that answer one answer are one record that follows it, also where the
//     log writes them on lines of their own or inside the call's own part. They have
//     role user in the Anthropic forms, where what else stands in the same line stays
//     beside them, and role tool elsewhere.
//   - Words of different origin are different records, except where they were one
//     element on the wire (Claude Code, request bodies).
//   - What only a screen shows (progress, hooks, notices, titles) is no record.
//
// [pleat.Message.Origin] tells what a person typed from what a program put there and from
// another agent's summaries; model and tool messages and those of formats that do not
// tell have [pleat.OriginUnknown].
//
// Messages of wire formats keep their raw element. Claude Code's lines are put back
// together as the element that was on the wire: role and content, each block's bytes as
// they were logged. Other formats have blocks without raw bytes.
//
// # Trees
//
// Claude Code and pi (version 3) write trees: rewinding makes a fork. The conversation is
// the path from the last leaf to the root. Parallel calls make forks too; their lines
// are brought back, because they belong to an answer on the path. A link to a line that
// is not there is bridged by the order of the file. Branches that were left and
// sidechains (sub-agents) are counted in [Info] and read only on demand.
//
// # Compaction
//
// The transcript stays complete: where a log says that its agent compacted, everything
// before is still read, and the place is noted in [Info].Compactions. Summaries are records
// with [pleat.OriginSummary] and role user. A replacement history (Codex) is read only
// where the file holds nothing before it.
//
// # Damage and size
//
// A line that cannot be read is reported with its number and skipped; [Options].Strict
// makes it an error. A document that is cut off yields what is whole.
//
// Line formats stream: memory holds one line (at most [Options].MaxLine) and for trees an
// index of some 200 bytes a line. Formats that are one JSON document are held whole, up
// to [Options].MaxDocument. Input that cannot seek goes to a temporary file.
package sessionlog
