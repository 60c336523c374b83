package sessionlog

import (
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// anthropicBlocks decodes the content of an Anthropic message: a string or blocks.
func anthropicBlocks(content value) []transcript.Block {
	if content.isString() {
		return []transcript.Block{transcript.Text{Text: content.content()}}
	}
	var blocks []transcript.Block
	for b := range content.elems() {
		blocks = append(blocks, anthropicBlock(b))
	}
	return blocks
}

func anthropicBlock(v value) transcript.Block {
	var typ, text, thinking, signature, data, id, name, input, callID, content, isError, source value
	for n, val := range v.fields() {
		switch n {
		case "type":
			typ = val
		case "text":
			text = val
		case "thinking":
			thinking = val
		case "signature":
			signature = val
		case "data":
			data = val
		case "id":
			id = val
		case "name":
			name = val
		case "input":
			input = val
		case "tool_use_id":
			callID = val
		case "content":
			content = val
		case "is_error":
			isError = val
		case "source":
			source = val
		}
	}
	raw := v.raw()
	switch {
	case typ.is("text") && text.isString():
		return transcript.Text{Text: text.content(), Raw: raw}
	case typ.is("thinking") && thinking.isString():
		return transcript.Thinking{Text: thinking.content(), Signature: signature.str(), Raw: raw}
	case typ.is("redacted_thinking"):
		return transcript.Thinking{Signature: data.str(), Redacted: true, Raw: raw}
	case typ.is("tool_use") && id.isString() && name.isString():
		return transcript.ToolCall{ID: id.str(), Name: name.str(), Input: transcript.Plain(input.raw()), Raw: raw}
	case typ.is("tool_result") && callID.isString():
		return transcript.ToolResult{CallID: callID.str(), Error: isError.isTrue(), Parts: transcript.BlocksOf(anthropicBlocks(content)...), Raw: raw}
	case typ.is("image") && source.isObject():
		return transcript.Image{
			MediaType: source.get("media_type").str(), Data: source.get("data").content(), URL: source.get("url").str(), Raw: raw,
		}
	}
	return transcript.Opaque{Type: typ.str(), Raw: raw}
}

func anthropicUsage(v value) *model.Usage {
	if !v.isObject() {
		return nil
	}
	u := &model.Usage{
		Input: v.get("input_tokens").num(), CacheRead: v.get("cache_read_input_tokens").num(),
		CacheWrite:   v.get("cache_creation_input_tokens").num(),
		CacheWrite1h: v.get("cache_creation", "ephemeral_1h_input_tokens").num(),
		Output:       v.get("output_tokens").num(),
	}
	u.CacheWrite = max(u.CacheWrite-u.CacheWrite1h, 0) // the sum is given
	return u
}

// readAnthropic reads a Messages request body, or a bare list of messages.
func readAnthropic(l *Log, s *sink) {
	body := l.doc
	list := body
	if body.isObject() {
		list = body.get("messages")
		l.info.Model = body.get("model").str()
		l.info.System = body.get("system").texts()
		l.info.Tools = tools(body.get("tools"))
	}
	l.each(list, func(e value, num int) bool {
		e = e.keep()
		role := e.get("role").str()
		if role == "" {
			s.err = l.damage(num, errShape)
			return s.err == nil
		}
		msg := transcript.WireMessage(transcript.Role(role), transcript.FormatAnthropic, e.raw(), anthropicBlocks(e.get("content"))...)
		return s.add(Record{Message: msg, Line: num}) == nil
	})
}

// tools decodes tool definitions of any of the wires.
func tools(list value) []model.Tool {
	var all []model.Tool
	for v := range list.elems() {
		raw := v.raw()
		if f := v.get("function"); f.isObject() {
			v = f
		}
		t := model.Tool{Name: v.get("name").str(), Description: v.get("description").str(), Raw: raw}
		for _, key := range []string{"input_schema", "parameters", "inputSchema"} {
			if schema := v.get(key); schema.isObject() {
				t.Schema = schema.raw()
			}
		}
		all = append(all, t)
	}
	return all
}
