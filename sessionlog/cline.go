package sessionlog

import (
	"cmp"

	"github.com/pleat-dev/pleat/transcript"
)

// clineFormat is the file NAME.messages.json of the command line.
var clineFormat = format{
	name:    "cline",
	agent:   "cline",
	folders: map[string][]string{".cline/data/sessions": {"*/*.messages.json"}},
	document: func(doc value) bool {
		first := doc.get("messages").at(0)
		return doc.get("sessionId").isString() &&
			first.get("ts").exists() && first.get("role").isString() && first.get("content").exists()
	},
	read: readCline,
}

// readCline reads messages in the form of the Messages API, with times and usage of their own.
func readCline(s *sink) error {
	s.info.SessionID = s.doc.get("sessionId").str()
	s.info.Version = s.doc.get("origin", "version").str()
	s.info.System = s.doc.get("system_prompt").str()
	return s.each(s.doc.get("messages"), func(m value, num int) error {
		rec := Record{Line: num, Time: m.get("ts").time()}
		rec.Model = m.get("modelInfo", "id").str()
		content := m.get("content")
		switch m.get("role").str() {
		case "assistant":
			rec.Usage = m.get("metrics").usageOf("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "")
			return s.answer(rec, plainBlocks(content))
		case "user":
			return clineUser(s, rec, content)
		}
		return errShape
	})
}

// clineUser reads what a person typed, results, and what Cline put beside them.
func clineUser(s *sink, rec Record, content value) error {
	var said []transcript.Block
	rec.Model = ""
	for b := range content.list() {
		text := cmp.Or(b.get("text").str(), b.str())
		switch {
		case b.get("type").is("tool_result"):
			_ = s.result(rec, clineResult(b))
		case b.get("type").is("image"):
			said = append(said, plainBlock(b))
		case text != "":
			said = append(said, transcript.Say(text))
		}
	}
	return s.user(rec, transcript.OriginUnknown, said...)
}

func clineResult(b value) transcript.ToolResult {
	failed := b.get("is_error").isTrue()
	var parts []transcript.Block
	for p := range b.get("content").list() {
		switch result := p.get("result"); {
		case result.isString(): // one of several commands or files
			head := ""
			if query := p.get("query").str(); query != "" {
				head = query + "\n"
			}
			parts = append(parts, transcript.Text{Text: transcript.Plain(head + result.str())})
			failed = failed || p.get("error").isString()
		case p.isString():
			parts = append(parts, transcript.Text{Text: p.content()})
		case p.exists():
			parts = append(parts, plainBlock(p))
		}
	}
	return resultOf(b.get("tool_use_id"), failed, parts...)
}
