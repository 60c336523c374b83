package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

// readTau reads one dialogue of a tau-bench result file: Chat Completions messages with a
// reward. The user is played by a model, so nothing in it is typed.
func readTau(l *Log, s *sink) {
	l.info.Agent = "tau-bench"
	if id := l.doc.get("task_id"); id.exists() {
		l.info.Title = "task " + id.raw()
	}
	readChatList(l, s, l.doc.get("traj"))
}

// readSWEAgent reads a SWE-agent trajectory. Its history is what the model saw; early
// files have only the steps. Where the agent wrote commands into its text they stay text:
// there was no call on the wire.
func readSWEAgent(l *Log, s *sink) {
	l.info.Agent = "swe-agent"
	l.info.Title = l.doc.get("environment").str()
	history := l.doc.get("history")
	if !history.isArray() {
		sweSteps(l, s)
		return
	}
	acted := false
	l.each(history, func(elem value, num int) bool {
		e := elem.keep().object()
		role := e.get("role").str()
		rec := Record{Line: num}
		switch role {
		case "":
			s.err = l.damage(num, errShape)
			return s.err == nil
		case "tool":
			res := transcript.ToolResult{CallID: e.get("tool_call_ids").at(0).str(), Parts: transcript.BlocksOf(openaiParts(e.get("content"))...)}
			s.result(rec, res)
			return true
		case "assistant":
			acted = true
			rec.Message = transcript.Assistant(sweBlocks(e)...)
		default:
			rec.Message = transcript.NewMessage(transcript.Role(role), plainParts(e.get("content"))...)
			if role == "user" && (acted || e.get("is_demo").isTrue()) { // what the environment answered
				rec.Message = rec.Message.WithOrigin(transcript.OriginInjected)
			}
		}
		return s.add(rec) == nil
	})
}

func sweBlocks(e object) []transcript.Block {
	blocks := plainParts(e.get("content"))
	for _, call := range chatCalls(e) {
		c := call.(transcript.ToolCall)
		c.Raw = ""
		blocks = append(blocks, c)
	}
	return blocks
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

func sweSteps(l *Log, s *sink) {
	l.each(l.doc.get("trajectory"), func(e value, num int) bool {
		if text := e.get("response").str(); text != "" {
			_ = s.add(Record{Line: num, Message: transcript.Assistant(transcript.Say(text))})
		}
		if text := e.get("observation").str(); text != "" {
			_ = s.add(Record{Line: num, Message: transcript.User(text).WithOrigin(transcript.OriginInjected)})
		}
		return s.err == nil
	})
}
