package sessionlog

import (
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// chatMessage decodes an element of a Chat Completions list. It is false if the element
// is none.
func chatMessage(elem value) (transcript.Message, bool) {
	e := elem.keep().object()
	role := e.get("role").str()
	if role == "" {
		return transcript.Message{}, false
	}
	if role == "function" {
		role = "tool"
	}
	content := e.get("content")
	if role == "tool" {
		id := e.get("tool_call_id").str()
		if id == "" {
			id = e.get("name").str() // the old function form has no ids
		}
		res := transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(openaiParts(content)...), Raw: e.raw()}
		return transcript.WireMessage(transcript.RoleTool, transcript.FormatChat, e.raw(), res), true
	}
	var blocks []transcript.Block
	if r := e.get("reasoning_content"); r.isString() && !r.content().IsEmpty() {
		blocks = append(blocks, transcript.Thinking{Text: r.content()})
	}
	blocks = append(blocks, openaiParts(content)...)
	blocks = append(blocks, chatCalls(e)...)
	return transcript.WireMessage(transcript.Role(role), transcript.FormatChat, e.raw(), blocks...), true
}

func chatCalls(e object) []transcript.Block {
	var blocks []transcript.Block
	for call := range e.get("tool_calls").elems() {
		f := call.get("function")
		input := f.get("arguments")
		if custom := call.get("custom"); custom.isObject() {
			f, input = custom, custom.get("input")
		}
		blocks = append(blocks, transcript.ToolCall{ID: call.get("id").str(), Name: f.get("name").str(), Input: arguments(input), Raw: call.raw()})
	}
	if f := e.get("function_call"); f.isObject() && len(blocks) == 0 {
		name := f.get("name").str()
		blocks = append(blocks, transcript.ToolCall{ID: name, Name: name, Input: arguments(f.get("arguments")), Raw: f.raw()})
	}
	return blocks
}

// arguments is a call's input: a string that holds JSON, or JSON itself.
func arguments(v value) transcript.Content {
	if v.isString() {
		return v.content()
	}
	return transcript.Plain(v.raw())
}

// openaiParts decodes content of both OpenAI wires: a string or typed parts. An empty
// string is no content.
func openaiParts(content value) []transcript.Block {
	if content.isString() {
		if content.content().IsEmpty() {
			return nil
		}
		return []transcript.Block{transcript.Text{Text: content.content()}}
	}
	var blocks []transcript.Block
	for e := range content.elems() {
		p := e.object()
		raw := p.raw()
		switch typ := p.get("type").str(); typ {
		case "text", "input_text", "output_text":
			blocks = append(blocks, transcript.Text{Text: p.get("text").content(), Raw: raw})
		case "image_url", "input_image":
			img := p.get("image_url")
			url, detail := img, p.get("detail")
			if img.isObject() {
				url, detail = img.get("url"), img.get("detail")
			}
			blocks = append(blocks, imageFrom(url.str(), detail.str(), raw))
		default:
			blocks = append(blocks, transcript.Opaque{Type: typ, Raw: raw})
		}
	}
	return blocks
}

// imageFrom makes a picture of a URL, which may hold the data itself.
func imageFrom(url, detail, raw string) transcript.Image {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if media, data, ok := strings.Cut(rest, ";base64,"); ok {
			return transcript.Image{MediaType: media, Data: transcript.Plain(data), Detail: detail, Raw: raw}
		}
	}
	return transcript.Image{URL: url, Detail: detail, Raw: raw}
}

// readChat reads a Chat Completions request body, or a bare list of messages.
func readChat(l *Log, s *sink) {
	list := l.doc
	if l.doc.isObject() {
		list = l.doc.get("messages")
		l.info.Model = l.doc.get("model").str()
		l.info.Tools = tools(l.doc.get("tools"))
	}
	readChatList(l, s, list)
}

func readChatList(l *Log, s *sink, list value) {
	l.each(list, func(e value, num int) bool {
		msg, ok := chatMessage(e)
		if !ok {
			s.err = l.damage(num, errShape)
			return s.err == nil
		}
		return s.add(Record{Message: msg, Line: num}) == nil
	})
}

// readResponses reads a Responses request body, or a bare list of items.
func readResponses(l *Log, s *sink) {
	list := l.doc
	if l.doc.isObject() {
		list = l.doc.get("input")
		l.info.Model = l.doc.get("model").str()
		l.info.System = l.doc.get("instructions").str()
		l.info.Tools = tools(l.doc.get("tools"))
	}
	if list.isString() {
		_ = s.add(Record{Message: transcript.User(list.str()), Line: l.docAt})
		return
	}
	l.each(list, func(e value, num int) bool {
		msg, ok := responsesItem(e)
		if !ok {
			s.err = l.damage(num, errShape)
			return s.err == nil
		}
		return s.add(Record{Message: msg, Line: num}) == nil
	})
}

// responsesItem decodes one item of the Responses wire. It is false if item is none.
func responsesItem(item value) (transcript.Message, bool) {
	v := item.keep().object()
	typ := v.get("type").str()
	wire := func(role transcript.Role, blocks ...transcript.Block) (transcript.Message, bool) {
		return transcript.WireMessage(role, transcript.FormatResponses, v.raw(), blocks...), true
	}
	switch {
	case typ == "message" || typ == "" && v.get("role").isString():
		return wire(transcript.Role(v.get("role").str()), openaiParts(v.get("content"))...)
	case typ == "reasoning":
		return wire(transcript.RoleAssistant, reasoning(v))
	case typ == "function_call" || typ == "custom_tool_call" || typ == "local_shell_call":
		input := v.get("arguments")
		for _, key := range []string{"input", "action"} {
			if !input.exists() {
				input = v.get(key)
			}
		}
		name := v.get("name").str()
		if name == "" {
			name = strings.TrimSuffix(typ, "_call")
		}
		return wire(transcript.RoleAssistant, transcript.ToolCall{ID: v.get("call_id").str(), Name: name, Input: arguments(input), Raw: v.raw()})
	case strings.HasSuffix(typ, "_call_output"):
		res := transcript.ToolResult{CallID: v.get("call_id").str(), Parts: transcript.BlocksOf(outputParts(v.get("output"))...), Raw: v.raw()}
		return wire(transcript.RoleTool, res)
	case typ == "":
		return transcript.Message{}, false
	}
	return wire(transcript.RoleAssistant, transcript.Opaque{Type: typ, Raw: v.raw()})
}

// outputParts is what a tool gave back: a string, parts, or an object around either.
func outputParts(output value) []transcript.Block {
	if output.isObject() {
		for _, key := range []string{"content_items", "content"} {
			if c := output.get(key); c.exists() {
				return openaiParts(c)
			}
		}
		return []transcript.Block{transcript.Text{Text: transcript.Plain(output.raw())}}
	}
	return openaiParts(output)
}

func reasoning(v object) transcript.Thinking {
	text := v.get("summary").texts()
	if full := v.get("content").texts(); full != "" {
		text = full
	}
	cipher := v.get("encrypted_content").str()
	return transcript.Thinking{Text: transcript.Plain(text), Signature: cipher, Redacted: text == "" && cipher != "", Raw: v.raw()}
}

func openaiUsage(v value) *model.Usage {
	if !v.isObject() {
		return nil
	}
	cached := v.get("cached_input_tokens").num()
	return &model.Usage{
		Input: max(v.get("input_tokens").num()-cached, 0), CacheRead: cached,
		Output: v.get("output_tokens").num(), Reasoning: v.get("reasoning_output_tokens").num(),
	}
}
