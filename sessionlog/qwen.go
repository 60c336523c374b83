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
func readQwen(s *sink) error {
	return s.readTree("uuid", "parentUuid", func(e value) (nodeKind, error) {
		switch {
		case !e.get("type").isString():
			return 0, errShape
		case e.get("message").isObject(), e.get("subtype").is("chat_compression"):
			return userNode, nil
		}
		return linkNode, nil
	}, qwenLine)
}

func qwenLine(s *sink, rec Record, e value) error {
	rec.Time = e.get("timestamp").time()
	info := &s.info
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
		rec.Usage = e.get("usageMetadata").usageOf("promptTokenCount", "cachedContentTokenCount", "",
			"candidatesTokenCount", "thoughtsTokenCount")
		if rec.Usage != nil {
			rec.Usage.Output = max(rec.Usage.Output, rec.Usage.Reasoning)
		}
		return s.answer(rec, qwenAnswer(parts))
	case "tool_result":
		status := e.get("toolCallResult", "status").str()
		for p := range parts.elems() {
			_ = s.result(rec, geminiResult(p.get("functionResponse", "id"), status, p))
		}
	case "system":
		if e.get("subtype").is("chat_compression") {
			s.compaction(Compaction{
				Line: rec.Line, PreTokens: e.get("systemPayload", "info", "originalTokenCount").num(),
			})
		}
	}
	return s.err
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
