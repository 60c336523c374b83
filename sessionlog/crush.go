package sessionlog

import (
	"encoding/base64"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// crushFormat is what Crush keeps in a folder of each project, read after the source of 0.90. The first
// folder has the list of projects.
var crushFormat = format{
	name:    "crush",
	agent:   "crush",
	folders: map[string][]string{".crush": {"crush.db/*"}},
	line:    rowOf("crush"),
	read: func(s *sink) error {
		return s.rows(func(e, row value) {
			s.info.Dir = strings.TrimSuffix(path.Dir(strings.ReplaceAll(e.get("file").str(), `\`, "/")), "/.crush")
			if s.info.Parent = row.get("parent_session_id").str(); s.info.Parent == "" { // whose cost has that of its sub-agents
				s.info.USD, _ = strconv.ParseFloat(row.get("cost").raw(), 64)
			}
		}, s.crushMessage)
	},
}

func (s *sink) crushMessage(rec Record, _, row value) error {
	parts := row.get("parts")
	if !parts.isArray() {
		return errShape
	}
	rec.Time = row.get("created_at").time()
	answer := row.get("role").is("assistant")
	var blocks, beside []transcript.Block // beside what was typed
	for p := range parts.elems() {
		data := p.get("data")
		switch p.get("type").str() {
		case "text":
			blocks = append(blocks, transcript.Text{Text: data.get("text").content()})
		case "reasoning":
			if text := data.get("thinking").content(); !text.IsEmpty() {
				blocks = append(blocks, transcript.Thinking{Text: text, Signature: data.get("signature").str()})
			}
		case "image_url":
			blocks = append(blocks, transcript.ImageAt(data.get("url").str()))
		case "binary":
			if text, ok := crushText(data); ok {
				beside = append(beside, text)
			} else {
				blocks = append(blocks, crushFile(data))
			}
		case "tool_call":
			blocks = append(blocks, callOf(data.get("id"), data.get("name"), data.get("input")))
		case "tool_result":
			_ = s.result(rec, crushResult(data))
		case "shell_command": // which a person ran
			beside = append(beside, transcript.Say(fmt.Sprintf("$ %s\n%s\n(exit code %d)", data.get("command").str(),
				data.get("output").str(), data.get("exit_code").num())))
		}
	}
	switch {
	case len(blocks)+len(beside) == 0:
		return s.err
	case row.get("is_summary_message").num() > 0:
		return s.compacted(rec, Compaction{Summary: transcript.Assistant(blocks...).Text()})
	case answer:
		rec.Model = row.get("model").str()
		return s.answer(rec, blocks)
	}
	_ = s.user(rec, transcript.OriginUnknown, blocks...)
	return s.user(rec, transcript.OriginInjected, beside...)
}

func crushResult(data value) transcript.ToolResult {
	parts := []transcript.Block{transcript.Text{Text: data.get("content").content()}}
	if mime := data.get("mime_type").str(); strings.HasPrefix(mime, "image/") {
		parts = append(parts, transcript.Image{MediaType: mime, Data: data.get("data").content()})
	}
	return resultOf(data.get("tool_call_id"), data.get("is_error").isTrue(), parts...)
}

// crushText decodes an attached text, of which Crush makes an element when it asks the model.
func crushText(data value) (transcript.Block, bool) {
	text, err := base64.StdEncoding.DecodeString(data.get("Data").str())
	says := fmt.Sprintf("<file path='%s'>\n\n%s\n</file>", data.get("Path").str(), text)
	return transcript.Say(says), err == nil && strings.HasPrefix(data.get("MIMEType").str(), "text/")
}

func crushFile(data value) transcript.Block {
	if mime := data.get("MIMEType").str(); strings.HasPrefix(mime, "image/") {
		return transcript.Image{MediaType: mime, Data: data.get("Data").content()}
	}
	return transcript.Opaque{Type: "file", Raw: data.raw()}
}
