package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

// QwenCode is the format of Qwen Code sessions.
const QwenCode Format = "qwen-code"

var qwenFormat = format{
	name:          QwenCode,
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
	for at, name := range map[*string]string{&l.info.SessionID: "sessionId", &l.info.Version: "version", &l.info.Dir: "cwd"} {
		if text := e.get(name).str(); text != "" {
			*at = text
		}
	}
	if n := e.get("contextWindowSize").num(); n > 0 {
		l.info.Window = n
	}
	switch parts := e.get("message", "parts"); e.get("type").str() {
	case "user":
		blocks := geminiParts(parts)
		origin := blocksOrigin(blocks)
		if p := e.get("provenance"); p.isString() && !p.is("real_user") {
			origin = transcript.OriginInjected
		}
		return s.user(rec, origin, blocks...)
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
			s.compaction(Compaction{Line: rec.Line, PreTokens: e.get("systemPayload", "info", "originalTokenCount").num()})
		}
	}
	return nil
}

// qwenAnswer reads the parts of an answer, in which thoughts are texts with a mark.
func qwenAnswer(parts value) (blocks []transcript.Block) {
	for p := range parts.elems() {
		switch call := p.get("functionCall"); {
		case call.isObject():
			blocks = append(blocks, transcript.ToolCall{ID: call.get("id").str(), Name: call.get("name").str(), Input: arguments(call.get("args"))})
		case p.get("thought").isTrue():
			blocks = append(blocks, transcript.Thinking{Text: p.get("text").content(), Signature: p.get("thoughtSignature").str()})
		default:
			blocks = append(blocks, geminiPart(p)...)
		}
	}
	return blocks
}
