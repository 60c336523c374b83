package sessionlog

import (
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// openCodeRows are opencode's databases, in the form that it has had since 1.2, in which a message has parts
// as an export has them, and in the form of its version 2, in which the table session_message has all of
// a message and the column type its role.
var openCodeRows = format{name: OpenCode, agent: "opencode", line: rowOf(OpenCode), read: readOpenCodeRows}

func readOpenCodeRows(l *Log, s *sink) error {
	return l.rows(func(_, row value) {
		l.info.Version, l.info.Dir = row.get("version").str(), row.get("directory").str()
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
				if err := l.skip(errShape, rec.Line); err != nil {
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
			if b, ok := openCodeV2File(f); ok {
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
		return s.openCodeV2Answer(rec, data)
	}
	return nil // what was switched to
}

func (s *sink) openCodeV2Answer(rec Record, data value) error {
	rec.Model = data.get("model", "id").str()
	rec.Usage = openCodeUsage(data.get("tokens"))
	var blocks []transcript.Block
	var results []transcript.ToolResult
	for p := range data.get("content").elems() {
		switch p.get("type").str() {
		case "text":
			if text := p.get("text").content(); !text.IsEmpty() {
				blocks = append(blocks, transcript.Text{Text: text})
			}
		case "reasoning":
			if text := p.get("text").content(); !text.IsEmpty() {
				blocks = append(blocks, transcript.Thinking{Text: text})
			}
		case "tool":
			state := p.get("state")
			call := callOf(p.get("id"), p.get("name"), state.get("input"))
			blocks = append(blocks, call)
			if res, ok := openCodeV2Result(call.ID, state); ok {
				results = append(results, res)
			}
		}
	}
	return s.answer(rec, blocks, results...)
}

// openCodeV2Result decodes the result of a call that has ended.
func openCodeV2Result(id string, state value) (transcript.ToolResult, bool) {
	failed := state.get("status").is("error")
	if !failed && !state.get("status").is("completed") {
		return transcript.ToolResult{}, false
	}
	var parts []transcript.Block
	for c := range state.get("content").elems() {
		if text := c.get("text"); text.isString() {
			parts = append(parts, transcript.Text{Text: text.content()})
		} else if b, ok := openCodeV2File(c); ok {
			parts = append(parts, b)
		}
	}
	if failed && len(parts) == 0 {
		return transcript.ErrorResult(id, state.get("error", "message").str()), true
	}
	return transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(parts...), Error: failed}, true
}

// openCodeV2File decodes an attachment. It leaves out text files, as in the older form.
func openCodeV2File(f value) (transcript.Block, bool) {
	mime := f.get("mime").str()
	if !strings.HasPrefix(mime, "image/") {
		return openCodeFile(f)
	}
	img := transcript.ImageAt(f.get("uri").str())
	if data := f.get("data"); data.isString() {
		img = transcript.Image{Data: data.content()}
	}
	img.MediaType = mime
	return img, true
}
