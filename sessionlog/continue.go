package sessionlog

import (
	"net/url"

	"github.com/pleat-dev/pleat/transcript"
)

// continueFormat is that of the extensions for editors and of the command line.
var continueFormat = format{
	name:    "continue",
	agent:   "continue",
	folders: map[string][]string{".continue/sessions": {"*-*-*-*-*.json"}}, // sessions.json is their list
	document: func(doc value) bool {
		history := doc.get("history")
		first := history.at(0)
		return doc.get("sessionId").isString() && history.isArray() && (first.get("message").isObject() || !first.exists())
	},
	read: readContinue,
}

// readContinue reads items that each hold a message and what belongs to it: an answer's calls
// with their results, and what the person attached. Messages of role tool repeat the results.
func readContinue(l *Log, s *sink) error {
	l.info.SessionID, l.info.Title = l.doc.get("sessionId").str(), l.doc.get("title").str()
	l.info.Model = l.doc.get("chatModelTitle").str()
	l.info.Dir = l.doc.get("workspaceDirectory").str()
	if u, err := url.Parse(l.info.Dir); err == nil && u.Scheme == "file" {
		l.info.Dir = u.Path
	}
	var thinking []transcript.Block // of the answer that follows
	return l.each(l.doc.get("history"), func(e value, num int) error {
		item := e.keep()
		m, rec := item.get("message"), Record{Line: num}
		switch m.get("role").str() {
		case "user":
			thinking = nil
			if err := s.user(rec, transcript.OriginInjected, continueTexts(item.get("contextItems"))...); err != nil {
				return err
			}
			blocks := continueParts(m.get("content"))
			if err := s.user(rec, blocksOrigin(blocks), blocks...); err != nil {
				return err
			}
		case "thinking":
			thinking = append(thinking, transcript.Thinking{
				Text:      transcript.Plain(m.get("content").texts()),
				Signature: m.get("signature").str(),
				Redacted:  m.get("redactedThinking").isString(),
			})
		case "assistant":
			err := continueAnswer(s, rec, item, append(thinking, continueParts(m.get("content"))...))
			if thinking = nil; err != nil {
				return err
			}
		case "":
			return errShape
		}
		if summary := item.get("conversationSummary").str(); summary != "" {
			return s.compacted(rec, Compaction{Summary: summary})
		}
		return nil
	})
}

func continueAnswer(s *sink, rec Record, item value, blocks []transcript.Block) error {
	m := item.get("message")
	rec.Model = item.get("promptLogs").at(0).get("modelTitle").str()
	rec.Usage = m.get("usage").usageOf("promptTokens",
		"promptTokensDetails.cachedTokens", "promptTokensDetails.cacheWriteTokens", "completionTokens")
	var results []transcript.ToolResult
	for state := range item.get("toolCallStates").elems() {
		f := state.get("toolCall", "function")
		call := callOf(state.get("toolCallId"), f.get("name"), f.get("arguments"))
		blocks = append(blocks, call)
		switch status := state.get("status").str(); status {
		case "done", "errored", "canceled":
			res := transcript.ToolResult{CallID: call.ID, Error: status != "done"}
			res.Parts = transcript.BlocksOf(continueTexts(state.get("output"))...)
			results = append(results, res)
		}
	}
	return s.answer(rec, blocks, results...)
}

// continueTexts are the texts of context items: attached files, and what tools gave.
func continueTexts(items value) (blocks []transcript.Block) {
	for item := range items.elems() {
		if text := item.get("content"); !text.content().IsEmpty() {
			blocks = append(blocks, transcript.Text{Text: text.content()})
		}
	}
	return blocks
}

// continueParts decodes content: a string, or parts that are texts and images.
func continueParts(content value) (blocks []transcript.Block) {
	for p := range content.list() {
		switch {
		case p.isString() && !p.content().IsEmpty():
			blocks = append(blocks, transcript.Text{Text: p.content()})
		case p.get("imageUrl").isObject():
			blocks = append(blocks, transcript.ImageAt(p.get("imageUrl", "url").str()))
		case p.isObject():
			blocks = append(blocks, plainBlock(p))
		}
	}
	return blocks
}
