package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

// SWEAgent is the format of SWE-agent trajectories.
const SWEAgent Format = "swe-agent"

var sweAgentFormat = format{
	name: SWEAgent,
	document: func(doc value) bool {
		steps := doc.get("trajectory")
		return steps.isArray() && (doc.get("history").isArray() || steps.at(0).get("observation").exists())
	},
	read: readSWEAgent,
}

// readSWEAgent reads a SWE-agent trajectory. Its history is what the model saw; early files
// have only the steps. Commands that the agent wrote into its text stay text, for there was
// no call on the wire.
func readSWEAgent(l *Log, s *sink) error {
	l.info.Agent = "swe-agent"
	l.info.Title = l.doc.get("environment").str()
	history := l.doc.get("history")
	if !history.isArray() {
		return sweSteps(l, s)
	}
	acted := false
	return l.each(history, func(elem value, num int) error {
		e := elem.keep().object()
		rec := Record{Line: num}
		switch role := e.get("role").str(); role {
		case "":
			return errShape
		case "tool":
			return s.result(rec, transcript.ToolResult{CallID: e.get("tool_call_ids").at(0).str(), Parts: transcript.BlocksOf(openaiParts(e.get("content"))...)})
		case "assistant":
			acted = true
			blocks := plainParts(e.get("content"))
			for _, c := range chatCalls(e) {
				c.Raw = ""
				blocks = append(blocks, c)
			}
			return s.answer(rec, blocks)
		default:
			rec.Message = transcript.NewMessage(transcript.Role(role), plainParts(e.get("content"))...)
			if role == "user" && (acted || e.get("is_demo").isTrue()) { // what the environment answered
				rec.Message = rec.Message.WithOrigin(transcript.OriginInjected)
			}
			return s.add(rec)
		}
	})
}

// plainParts decodes content without raw bytes: these formats are on no wire.
func plainParts(content value) []transcript.Block {
	blocks := openaiParts(content)
	for i, b := range blocks {
		switch b := b.(type) {
		case transcript.Text:
			b.Raw = ""
			blocks[i] = b
		case transcript.Image:
			b.Raw = ""
			blocks[i] = b
		}
	}
	return blocks
}

func sweSteps(l *Log, s *sink) error {
	return l.each(l.doc.get("trajectory"), func(e value, num int) error {
		if text := e.get("response").str(); text != "" {
			_ = s.answer(Record{Line: num}, []transcript.Block{transcript.Say(text)})
		}
		if text := e.get("observation").str(); text != "" {
			_ = s.user(Record{Line: num}, transcript.OriginInjected, transcript.Say(text))
		}
		return s.err
	})
}
