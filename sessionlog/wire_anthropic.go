package sessionlog

import "github.com/pleat-dev/pleat"

// anthropicBlocks decodes the content of an Anthropic message: a string or blocks.
func anthropicBlocks(content value) []pleat.Block {
	if content.isString() {
		return []pleat.Block{pleat.Text{Text: content.content()}}
	}
	var blocks []pleat.Block
	for b := range content.elems() {
		blocks = append(blocks, anthropicBlock(b))
	}
	return blocks
}

func anthropicBlock(v value) pleat.Block {
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
		return pleat.Text{Text: text.content(), Raw: raw}
	case typ.is("thinking") && thinking.isString():
		return pleat.Thinking{Text: thinking.content(), Signature: signature.str(), Raw: raw}
	case typ.is("redacted_thinking"):
		return pleat.Thinking{Signature: data.str(), Redacted: true, Raw: raw}
	case typ.is("tool_use") && id.isString() && name.isString():
		return pleat.ToolCall{ID: id.str(), Name: name.str(), Input: pleat.Plain(input.raw()), Raw: raw}
	case typ.is("tool_result") && callID.isString():
		return pleat.ToolResult{CallID: callID.str(), Error: isError.isTrue(), Parts: pleat.BlocksOf(anthropicBlocks(content)...), Raw: raw}
	case typ.is("image") && source.isObject():
		return pleat.Image{
			MediaType: source.get("media_type").str(), Data: source.get("data").content(), URL: source.get("url").str(), Raw: raw,
		}
	}
	return pleat.Opaque{Type: typ.str(), Raw: raw}
}

func anthropicUsage(v value) *pleat.Usage {
	if !v.isObject() {
		return nil
	}
	u := &pleat.Usage{
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
		msg := pleat.WireMessage(pleat.Role(role), pleat.FormatAnthropic, e.raw(), anthropicBlocks(e.get("content"))...)
		return s.add(Record{Message: msg, Line: num}) == nil
	})
}

// tools decodes tool definitions of any of the wires.
func tools(list value) []pleat.Tool {
	var all []pleat.Tool
	for v := range list.elems() {
		raw := v.raw()
		if f := v.get("function"); f.isObject() {
			v = f
		}
		t := pleat.Tool{Name: v.get("name").str(), Description: v.get("description").str(), Raw: raw}
		for _, key := range []string{"input_schema", "parameters", "inputSchema"} {
			if schema := v.get(key); schema.isObject() {
				t.Schema = schema.raw()
			}
		}
		all = append(all, t)
	}
	return all
}
