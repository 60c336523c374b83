// Package sessionlog reads the session files of other people's agents as pleat messages.
//
// [Open] finds the format from the content, never from a name, and returns a [Log]:
//
//	log, err := sessionlog.Open(file, nil)
//	…
//	for rec, err := range log.Records() {
//		…
//	}
//	info := log.Info() // complete after the loop
//
// It knows sessions of Claude Code, Codex, opencode, Gemini CLI, Copilot CLI, pi, Qwen Code,
// Goose, Crush, Cline and OpenHands, and request bodies of Anthropic Messages, OpenAI Chat Completions and
// Responses. Files that hold several sessions are read one session
// at a time: [Options].Session and [Log.Sessions]. [Agents] says where agents keep their files.
//
// # What a record is
//
// A [Record] is one message with at least one block. Formats write messages in many
// ways; these rules make them comparable:
//
//   - An answer of the model is one record, even where the log spreads it over lines
//     (Claude Code) or events (OpenHands). On the Responses wire, and so in Codex
//     rollouts, every item is a message of its own.
//   - The results of an answer's calls are one record that follows it, even where the
//     log writes each on a line of its own or inside its call. They have role tool. In the
//     Anthropic forms they have role user, and other blocks of the same line stay beside
//     them.
//   - Texts of different origin are different records, except where they were one
//     element on the wire (Claude Code, request bodies).
//   - What only a screen shows (progress, hooks, notices, titles) is no record.
//
// [transcript.Message.Origin] tells what the log itself says: that a program wrote a message, that a
// person typed it, or that it is another agent's summary. All others have [transcript.OriginUnknown]:
// package userwords tells what a person typed in them.
//
// Messages of wire formats keep their raw element. Claude Code's lines are put back
// together as the element that was on the wire: role and content, each block's bytes as
// they were logged. Other formats have blocks without raw bytes.
//
// # Trees
//
// Claude Code and pi (version 3) write trees: rewinding makes a fork. The conversation is
// the path from the last leaf to the root. Parallel calls make forks too; their lines are
// read because they belong to an answer on the path. Where a line links to one that the
// file does not have, the line before it takes its place. Abandoned branches and
// sidechains (sub-agents) are counted in [Info] and read only on demand.
//
// # Compaction
//
// The transcript stays complete: where a log says that its agent compacted, everything
// before is still read, and [Info].Compactions notes where it happened. Summaries are
// records with [transcript.OriginSummary] and role user. A replacement history (Codex) is
// read only where the file holds nothing before it.
//
// # Damage and size
//
// A line that cannot be read is reported with its number and skipped; [Options].Strict
// makes it an error. Of a document that is cut off, whole messages are read.
//
// Line formats stream: memory holds one line (at most 256 MB) and for trees an index of some
// 200 bytes a line; of Gemini CLI's lines, of which later ones take back earlier ones, all messages.
// Formats that are one JSON document are held whole, up to 512 MB, and so is input that cannot seek.
//
// # Adding a format
//
// Each format is one file: its name, a value of type format that says how to recognize it and
// where its agent keeps such files, and the function that reads it. To add one, copy the file
// of a format that is written in the same way (copilot.go for lines, gemini.go for a
// document, pi.go for a tree), and add its value to the list in format.go. TestFormats reads
// testdata/NAME.log and compares what it finds with testdata/NAME.golden.
package sessionlog
