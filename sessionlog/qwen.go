package sessionlog

import (
	"cmp"

	"github.com/pleat-dev/pleat/transcript"
)

var qwenFormat = format{
	name:          "qwen-code",
	agent:         "qwen-code",
	folders:       map[string][]string{".qwen/projects": {"*/chats/*.jsonl"}},
	bytesPerToken: 12,
	line: func(e value) bool {
		if !e.get("uuid").isString() || !e.get("sessionId").isString() {
			return false
		}
		return e.get("message", "parts").isArray() || e.get("type").is("system") && e.get("systemPayload").isObject()
	},
	read: readQwen,
}

// readQwen reads a Qwen Code session: a tree of lines, with Gemini's parts in their messages.
func readQwen(l *Log, s *sink) error {
	return l.readTree(s, "uuid", "parentUuid", func(e value) (nodeKind, error) {
		switch {
		case !e.get("type").isString():
			return 0, errShape
		case e.get("message").isObject(), e.get("subtype").is("chat_compression"):
			return userNode, nil
		}
		return linkNode, nil
	}, qwenLine)
}

func qwenLine(l *Log, s *sink, rec Record, v value) error {
	e := v.keep()
	rec.Time = e.get("timestamp").time()
	info := &l.info
	info.SessionID = cmp.Or(e.get("sessionId").str(), info.SessionID)
	info.Version = cmp.Or(e.get("version").str(), info.Version)
	info.Dir = cmp.Or(info.Dir, e.get("cwd").str())
	info.Window = cmp.Or(max(e.get("contextWindowSize").num(), 0), info.Window)
	switch parts := e.get("message", "parts"); e.get("type").str() {
	case "user":
		origin := transcript.OriginUnknown
		if p := e.get("provenance"); p.isString() && !p.is("real_user") {
			origin = transcript.OriginInjected
		}
		return s.user(rec, origin, geminiParts(parts)...)
	case "assistant":
		rec.Model = e.get("model").str()
		u := e.get("usageMetadata")
		rec.Usage = u.usageOf("promptTokenCount", "cachedContentTokenCount", "", "candidatesTokenCount")
		if rec.Usage != nil {
			rec.Usage.Reasoning = u.get("thoughtsTokenCount").num()
			rec.Usage.Output = max(rec.Usage.Output, rec.Usage.Reasoning)
		}
		return s.answer(rec, qwenAnswer(parts))
	case "tool_result":
		status := e.get("toolCallResult", "status").str()
		for p := range parts.elems() {
			id := p.get("functionResponse", "id").str()
			if err := s.result(rec, geminiResult(id, status, p)); err != nil {
				return err
			}
		}
	case "system":
		if e.get("subtype").is("chat_compression") {
			s.compaction(Compaction{
				Line: rec.Line, PreTokens: e.get("systemPayload", "info", "originalTokenCount").num(),
			})
		}
	}
	return nil
}

// qwenAnswer reads the parts of an answer, in which thoughts are texts with a mark.
func qwenAnswer(parts value) (blocks []transcript.Block) {
	for p := range parts.elems() {
		switch call := p.get("functionCall"); {
		case call.isObject():
			blocks = append(blocks, callOf(call.get("id"), call.get("name"), call.get("args")))
		case p.get("thought").isTrue():
			signed := p.get("thoughtSignature").str()
			blocks = append(blocks, transcript.Thinking{Text: p.get("text").content(), Signature: signed})
		default:
			blocks = append(blocks, geminiPart(p)...)
		}
	}
	return blocks
}
