package sessionlog

import (
	"cmp"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// gooseFormat is what Goose keeps since 1.10, read after the source of 1.30.
var gooseFormat = format{
	name:    "goose",
	agent:   "goose",
	folders: map[string][]string{".local/share/goose/sessions": {"sessions.db/*"}},
	line:    rowOf("goose"),
	read: func(s *sink) error {
		r := gooseReader{sink: s}
		return s.rows(r.head, r.message)
	},
}

type gooseReader struct {
	*sink
	model   string
	summary string // the newest
}

func (r *gooseReader) head(_, row value) {
	info := &r.info
	info.Title = cmp.Or(row.get("name").str(), row.get("description").str())
	info.Dir = row.get("working_dir").str()
	r.model = row.get("model_config_json", "model_name").str()
	used := model.Usage{
		Input: row.get("accumulated_input_tokens").num(), Output: row.get("accumulated_output_tokens").num(),
	}
	if used.Input+used.Output > 0 {
		info.Used = &used
	}
}

func (r *gooseReader) message(rec Record, _, row value) error {
	content, sees := row.get("content_json"), row.get("metadata_json")
	if !content.isArray() {
		return errShape
	}
	rec.Time = row.get("created_timestamp").time()
	agentOnly := sees.get("userVisible").raw() == "false"
	answer := row.get("role").is("assistant")
	switch {
	case agentOnly && sees.get("agentVisible").raw() == "false":
		return nil // a copy of it comes after a summary
	case agentOnly && answer: // what Goose says to the model behind a summary of the conversation
		r.compaction(Compaction{Line: rec.Line, Summary: r.summary})
		rec.Message = transcript.Assistant(transcript.Say(content.texts())).WithOrigin(transcript.OriginInjected)
		return r.add(rec)
	case agentOnly: // a summary of the conversation, or of calls and their results
		r.summary = content.texts()
		return r.sink.summary(rec, r.summary)
	}
	return r.blocks(rec, content, answer)
}

func (r *gooseReader) blocks(rec Record, content value, answer bool) error {
	var blocks []transcript.Block
	for p := range content.elems() {
		switch p.get("type").str() {
		case "text", "image", "thinking":
			blocks = append(blocks, plainBlock(p))
		case "redactedThinking":
			blocks = append(blocks, transcript.Thinking{Signature: p.get("data").str(), Redacted: true})
		case "toolRequest", "frontendToolRequest":
			call := p.get("toolCall", "value")
			blocks = append(blocks, callOf(p.get("id"), call.get("name"), call.get("arguments")))
		case "toolResponse":
			_ = r.result(rec, gooseResult(p))
		}
	}
	switch {
	case len(blocks) == 0:
		return r.err
	case answer:
		rec.Model = r.model
		return r.answer(rec, blocks)
	}
	return r.user(rec, transcript.OriginUnknown, blocks...)
}

// gooseResult decodes the result of a call: its value is a list, or since 1.12 an object that has it.
func gooseResult(p value) transcript.ToolResult {
	result := p.get("toolResult")
	if result.get("status").is("error") {
		return transcript.ErrorResult(p.get("id").str(), result.get("error").str())
	}
	v := result.get("value")
	list := v
	if v.isObject() {
		list = v.get("content")
	}
	var parts []transcript.Block
	for c := range list.elems() {
		switch {
		case c.get("type").is("image"):
			parts = append(parts, plainBlock(c))
		case c.get("text").isString():
			parts = append(parts, transcript.Text{Text: c.get("text").content()})
		case c.get("resource", "text").isString():
			parts = append(parts, transcript.Text{Text: c.get("resource", "text").content()})
		}
	}
	return resultOf(p.get("id"), v.get("isError").isTrue(), parts...)
}
