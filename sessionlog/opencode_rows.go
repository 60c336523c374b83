package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

// openCodeRows are opencode's databases, in the form that it has had since 1.2, in which a message has parts
// as an export has them, and in the form of its version 2, in which the table session_message has all of
// a message and the column type its role.
var openCodeRows = format{name: OpenCode, agent: "opencode", line: rowOf(OpenCode), read: readOpenCodeRows}

func readOpenCodeRows(s *sink) error {
	return s.rows(func(_, row value) {
		s.info.Version, s.info.Dir = row.get("version").str(), row.get("directory").str()
		s.info.Parent = row.get("parent_id").str()
	}, func(rec Record, e, row value) error {
		data := row.get("data")
		if !data.isObject() {
			return errShape
		}
		rec.Time = row.get("time_created").time()
		if e.get("table").is("session_message") {
			return s.openCodeV2(rec, row.get("type").str(), data)
		}
		for p := range e.get("parts").elems() {
			if !p.isObject() { // reported, while the others are read
				if err := s.skip(errShape, rec.Line); err != nil {
					return err
				}
			}
		}
		return s.openCodeMessage(rec, data, e.get("parts"))
	})
}

func (s *sink) openCodeV2(rec Record, typ string, data value) error {
	text := transcript.Text{Text: data.get("text").content()}
	switch typ {
	case "user":
		blocks := []transcript.Block{text}
		for f := range data.get("files").elems() {
			if b, ok := openCodeFile(f); ok {
				blocks = append(blocks, b)
			}
		}
		return s.user(rec, transcript.OriginUnknown, blocks...)
	case "synthetic", "skill", "system":
		return s.user(rec, transcript.OriginInjected, text)
	case "shell": // which a person ran
		output := data.get("output")
		if output.isObject() {
			output = output.get("output")
		}
		return s.user(rec, transcript.OriginInjected,
			transcript.Say("$ "+data.get("command").str()+"\n"+output.str()))
	case "compaction":
		if data.get("status").exists() && !data.get("status").is("completed") {
			return nil // it has not come to anything
		}
		return s.compacted(rec, Compaction{Trigger: data.get("reason").str(), Summary: data.get("summary").str()})
	case "assistant":
		rec.Model = data.get("model", "id").str()
		rec.Usage = openCodeUsage(data.get("tokens"))
		return s.openCodeAnswer(rec, data.get("content"), false)
	}
	return nil // what was switched to
}
