package sessionlog

import (
	"cmp"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// gooseFormat is the lines of versions that kept a session in a file; gooseExport is what
// "goose session export --format json" prints.
var gooseFormat = format{
	name:    "goose",
	agent:   "goose",
	folders: map[string][]string{".local/share/goose/sessions": {"*.jsonl"}},
	line: func(e value) bool {
		head := e.get("working_dir").isString() && !e.get("role").exists() && !e.get("conversation").exists()
		return head || gooseMessage(e)
	},
	read: readGooseLines,
}

var gooseExport = format{
	name:  "goose",
	agent: "goose",
	document: func(doc value) bool {
		return doc.get("working_dir").isString() && doc.get("conversation").isArray()
	},
	read: func(l *Log, s *sink) error {
		gooseInfo(l, l.doc)
		return l.each(l.doc.get("conversation"), func(e value, num int) error {
			return gooseRecord(s, Record{Line: num}, e.keep())
		})
	},
}

func gooseMessage(v value) bool {
	return v.get("role").isString() && v.get("created").num() > 0 && v.get("content").isArray()
}

func readGooseLines(l *Log, s *sink) error {
	return l.lines(func(ln line, v value) error {
		e := v.keep()
		switch {
		case gooseMessage(v):
			return gooseRecord(s, Record{Line: ln.num}, e)
		case e.get("working_dir").isString():
			gooseInfo(l, e)
			return nil
		}
		return errShape
	})
}

func gooseInfo(l *Log, e value) {
	l.info.SessionID, l.info.Dir = e.get("id").str(), e.get("working_dir").str()
	l.info.Model = e.get("model_config", "model_name").str()
	l.info.Title = cmp.Or(e.get("name").str(), e.get("description").str())
}

// gooseRecord reads a message. Results come in messages of the user.
func gooseRecord(s *sink, rec Record, m value) error {
	if n := m.get("created").num(); n > 0 {
		rec.Time = time.Unix(int64(n), 0).UTC()
	}
	var blocks []transcript.Block
	for b := range m.get("content").elems() {
		switch b.get("type").str() {
		case "toolRequest":
			call := b.get("toolCall", "value")
			blocks = append(blocks, callOf(b.get("id"), call.get("name"), call.get("arguments")))
		case "toolResponse":
			if err := s.result(rec, gooseResult(b)); err != nil {
				return err
			}
		default:
			blocks = append(blocks, plainBlock(b))
		}
	}
	switch m.get("role").str() {
	case "assistant":
		return s.answer(rec, blocks)
	case "user":
		origin := blocksOrigin(blocks)
		if visible := m.get("metadata", "userVisible"); visible.exists() && !visible.isTrue() {
			origin = transcript.OriginInjected // the agent's own, as a summary is
		}
		return s.user(rec, origin, blocks...)
	}
	return errShape
}

func gooseResult(b value) transcript.ToolResult {
	result := b.get("toolResult")
	res := transcript.ToolResult{CallID: b.get("id").str()}
	res.Error = result.get("status").is("error") || result.get("value", "isError").isTrue()
	content := result.get("value")
	if content.isObject() {
		content = content.get("content")
	}
	var parts []transcript.Block
	for p := range content.elems() {
		if text := p.get("text"); text.isString() {
			parts = append(parts, transcript.Text{Text: text.content()})
		} else {
			parts = append(parts, transcript.Opaque{Type: p.get("type").str(), Raw: p.raw()})
		}
	}
	if text := result.get("error"); text.isString() {
		parts = append(parts, transcript.Text{Text: text.content()})
	}
	res.Parts = transcript.BlocksOf(parts...)
	return res
}
