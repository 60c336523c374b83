package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

var geminiFormat = format{
	name:    "gemini-cli",
	agent:   "gemini-cli",
	folders: map[string][]string{".gemini/tmp": {"*/chats/*.json", "*/chats/*.jsonl"}},
	document: func(doc value) bool {
		messages := doc.get("messages")
		first := messages.at(0)
		return messages.isArray() && doc.get("sessionId").isString() &&
			(first.get("type").isString() || !first.exists())
	},
	read: readGemini,
}

// readGemini reads a Gemini CLI session, in which an answer holds its calls and their
// results.
func readGemini(s *sink) error {
	s.info.SessionID = s.doc.get("sessionId").str()
	s.info.Title = s.doc.get("summary").str()
	return s.each(s.doc.get("messages"), func(m value, num int) error { return geminiMessage(s, m, Record{Line: num}) })
}

func geminiMessage(s *sink, m value, rec Record) error {
	rec.Time = m.get("timestamp").time()
	switch m.get("type").str() {
	case "user":
		content := m.get("content")
		if content.at(0).get("functionResponse").exists() {
			return nil // the answer with the calls has their results too
		}
		return s.user(rec, transcript.OriginUnknown, geminiParts(content)...)
	case "gemini":
		return geminiAnswer(s, rec, m)
	case "":
		return errShape
	}
	return nil // a notice for the screen
}

func geminiAnswer(s *sink, rec Record, m value) error {
	rec.Model = m.get("model").str()
	if rec.Usage = m.get("tokens").usageOf("input", "cached", "", "output", "thoughts"); rec.Usage != nil {
		rec.Usage.Output += rec.Usage.Reasoning
	}
	var blocks []transcript.Block
	for t := range m.get("thoughts").elems() {
		text := t.get("description").str()
		if subject := t.get("subject").str(); subject != "" {
			text = subject + ": " + text
		}
		blocks = append(blocks, transcript.Thinking{Text: transcript.Plain(text)})
	}
	blocks = append(blocks, geminiParts(m.get("content"))...)
	var results []transcript.ToolResult
	for c := range m.get("toolCalls").elems() {
		blocks = append(blocks, callOf(c.get("id"), c.get("name"), c.get("args")))
		if res := c.get("result"); res.exists() {
			results = append(results, geminiResult(c.get("id"), c.get("status").str(), res))
		}
	}
	return s.answer(rec, blocks, results...)
}

// geminiResult reads what went back to the model: parts, of which the first is the
// response and others are what it refers to.
func geminiResult(id value, status string, v value) transcript.ToolResult {
	failed := status == "error"
	var parts []transcript.Block
	for p := range v.list() {
		response := p.get("functionResponse", "response")
		switch {
		case response.get("output").isString():
			parts = append(parts, transcript.Text{Text: response.get("output").content()})
		case response.get("error").isString():
			parts = append(parts, transcript.Text{Text: response.get("error").content()})
			failed = true
		case response.exists():
			parts = append(parts, transcript.Text{Text: transcript.Plain(response.raw())})
		default:
			parts = append(parts, geminiPart(p)...)
		}
	}
	return resultOf(id, failed, parts...)
}

// geminiParts decodes content: a string, one part or a list of them.
func geminiParts(v value) []transcript.Block {
	var blocks []transcript.Block
	for p := range v.list() {
		blocks = append(blocks, geminiPart(p)...)
	}
	return blocks
}

func geminiPart(p value) []transcript.Block {
	switch text, data := p.get("text"), p.get("inlineData"); {
	case p.isString(), text.isString():
		return textBlocks(p, text)
	case data.isObject():
		return []transcript.Block{
			transcript.Image{MediaType: data.get("mimeType").str(), Data: data.get("data").content()},
		}
	case p.isObject():
		return []transcript.Block{transcript.Opaque{Type: "part", Raw: p.raw()}}
	}
	return nil
}
