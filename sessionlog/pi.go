package sessionlog

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// Pi is the format of pi sessions.
const Pi Format = "pi"

var piFormat = format{
	name:    Pi,
	agent:   "pi",
	folders: map[string][]string{".pi/agent/sessions": {"*/*.jsonl", "*.jsonl"}},
	line: func(e value) bool {
		return e.get("type").is("session") && (e.get("cwd").exists() || e.get("version").exists()) ||
			e.get("type").is("message") && e.get("message").isObject()
	},
	read: readPi,
}

// readPi reads pi sessions. The first versions are linear, later ones are trees.
func readPi(s *sink) error {
	return s.readTree("id", "parentId", func(e value) (nodeKind, error) {
		switch typ := e.get("type"); {
		case !typ.isString(), typ.is("message") && !e.get("message").isObject():
			return 0, errShape
		case typ.is("session"):
			s.info.Version = e.get("version").raw()
			s.info.SessionID = e.get("id").str()
			s.info.Dir = e.get("cwd").str()
			s.info.Model = e.get("modelId").str()
			return headNode, nil
		case slices.Contains([]string{"message", "compaction", "branch_summary", "custom_message"}, typ.str()):
			return userNode, nil
		}
		return linkNode, nil
	}, piLine)
}

func piLine(s *sink, rec Record, e value) error {
	rec.Time = e.get("timestamp").time()
	switch e.get("type").str() {
	case "message":
		return piMessage(s, rec, e.get("message"))
	case "model_change":
		s.info.Model = e.get("modelId").str()
	case "session_info":
		s.info.Title = e.get("name").str()
	case "compaction":
		return s.compacted(rec, Compaction{PreTokens: e.get("tokensBefore").num(), Summary: e.get("summary").str()})
	case "branch_summary":
		return s.summary(rec, e.get("summary").str())
	case "custom_message":
		return s.user(rec, transcript.OriginInjected, plainBlocks(e.get("content"))...)
	}
	return nil
}

func piMessage(s *sink, rec Record, m value) error {
	blocks := plainBlocks(m.get("content"))
	switch role := m.get("role").str(); role {
	case "assistant":
		rec.Model = m.get("model").str()
		rec.Usage = m.get("usage").usage("input", "cacheRead", "cacheWrite", "output", "")
		return s.answer(rec, blocks)
	case "toolResult":
		return s.result(rec, resultOf(m.get("toolCallId"), m.get("isError").isTrue(), blocks...))
	case "bashExecution": // the person ran a command beside the conversation
		text := fmt.Sprintf("Ran `%s`\n%s", m.get("command").str(), m.get("output").str())
		return s.user(rec, transcript.OriginInjected, transcript.Say(text))
	case "user":
		return s.user(rec, transcript.OriginUnknown, blocks...)
	case "compactionSummary", "branchSummary":
		return s.summary(rec, m.get("summary").str())
	}
	return s.user(rec, transcript.OriginInjected, blocks...) // custom roles of extensions
}
