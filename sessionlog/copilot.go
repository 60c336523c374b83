package sessionlog

import (
	"cmp"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

var copilotFormat = format{
	name:          "copilot-cli",
	agent:         "copilot-cli",
	folders:       map[string][]string{".copilot/session-state": {"*/events.jsonl", "*.jsonl"}},
	bytesPerToken: 10,
	line:          func(e value) bool { return e.get("data").isObject() && strings.Contains(e.get("type").str(), ".") },
	read:          func(s *sink) error { return s.lines(s.copilotLine) },
}

func (s *sink) copilotLine(ln line, e value) error {
	typ, data := e.get("type"), e.get("data")
	if !typ.isString() || !data.isObject() {
		return errShape
	}
	rec := Record{Time: e.get("timestamp").time(), Line: ln.num, Sidechain: data.get("parentToolCallId").isString()}
	if rec.Sidechain && (typ.is("user.message") || typ.is("assistant.message") || typ.is("tool.execution_complete")) {
		s.info.Sidechain++
		if !s.opts.Sidechains {
			return nil
		}
	}
	info := &s.info
	switch typ.str() {
	case "session.start", "session.resume":
		if id := data.get("sessionId").str(); id != "" {
			info.SessionID = id
		}
		info.Agent = cmp.Or(data.get("producer").str(), info.Agent)
		info.Version = data.get("copilotVersion").str()
		info.Dir = data.get("context", "cwd").str()
	case "session.model_change":
		info.Model = data.get("newModel").str()
	case "session.title_changed":
		info.Title = data.get("title").str()
	case "system.message":
		info.System = data.get("content").str()
	case "user.message":
		return s.copilotUser(rec, data)
	case "assistant.message":
		return s.copilotAnswer(rec, data)
	case "tool.execution_complete":
		return s.copilotResult(rec, data)
	case "session.compaction_complete":
		c := Compaction{PreTokens: data.get("preCompactionTokens").num(), Summary: data.get("summaryContent").str()}
		return s.compacted(rec, c)
	}
	return nil
}

// copilotUser splits a user message into what was typed and what the program put around it before
// it was sent.
func (s *sink) copilotUser(rec Record, data value) error {
	typed, sent := data.get("content").str(), data.get("transformedContent").str()
	before, after, found := strings.Cut(sent, typed)
	if !found || typed == "" {
		before, after = sent, ""
	}
	origin := transcript.OriginTyped
	if source := data.get("source"); source.isString() && !source.is("user") {
		origin = transcript.OriginInjected // a skill's
	} else if !source.isString() && sent == "" { // it does not say who wrote it
		origin = transcript.OriginUnknown
	}
	put := func(text string, origin transcript.Origin) {
		if text != "" {
			_ = s.user(rec, origin, transcript.Say(text))
		}
	}
	put(before, transcript.OriginInjected)
	put(typed, origin)
	put(after, transcript.OriginInjected)
	return s.err
}

func (s *sink) copilotAnswer(rec Record, data value) error {
	blocks := thinkingBlocks(data.get("reasoningText"), data.get("reasoningOpaque").str())
	blocks = append(blocks, textBlocks(data.get("content"))...)
	for call := range data.get("toolRequests").elems() {
		blocks = append(blocks, callOf(call.get("toolCallId"), call.get("name"), call.get("arguments")))
	}
	rec.Model = cmp.Or(data.get("model").str(), s.info.Model)
	if n := data.get("outputTokens").num(); n > 0 {
		rec.Usage = &model.Usage{Output: n}
	}
	return s.answer(rec, blocks)
}

func (s *sink) copilotResult(rec Record, data value) error {
	text := data.get("result", "content")
	failed := !data.get("success").isTrue()
	if e := data.get("error"); failed && e.exists() {
		if text = e; e.isObject() {
			text = e.get("message")
		}
	}
	return s.result(rec, resultOf(data.get("toolCallId"), failed, transcript.Text{Text: text.content()}))
}
