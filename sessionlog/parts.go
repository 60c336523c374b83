package sessionlog

import (
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// body returns the list that a request body has under a name, and notes what else the body
// says. A document that is a bare list has nothing else.
func (l *Log) body(list string) value {
	if !l.doc.isObject() {
		return l.doc
	}
	l.info.Model = l.doc.get("model").str()
	l.info.Tools = tools(l.doc.get("tools"))
	return l.doc.get(list)
}

// readMessages reads a list of messages that are each one element of a wire.
func readMessages(l *Log, s *sink, list value, decode transcript.Codec) error {
	return l.each(list, func(e value, num int) error {
		msg, err := wireMessage(e, decode)
		if err != nil {
			return err
		}
		return s.add(Record{Message: msg, Line: num})
	})
}

// wireMessage decodes an element of a wire's list of messages.
func wireMessage(e value, decode transcript.Codec) (transcript.Message, error) {
	if !e.get("role").isString() && !e.get("type").isString() {
		return transcript.Message{}, errShape
	}
	msg, err := decode(e.b)
	if err != nil {
		err = damagedError{err}
	}
	return msg, err
}

func callOf(id, name, input value) transcript.ToolCall {
	return transcript.ToolCall{ID: id.str(), Name: name.str(), Input: arguments(input)}
}

// arguments decodes a call's input: a string that holds JSON, or JSON itself.
func arguments(v value) transcript.Content {
	if v.isString() {
		return v.content()
	}
	return transcript.Plain(v.raw())
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

// plainBlocks decodes content of agents that have a message format of their own: a string, or
// typed blocks with the names that most of them use.
func plainBlocks(content value) (blocks []transcript.Block) {
	for b := range content.list() {
		if b.isString() {
			blocks = append(blocks, transcript.Text{Text: b.content()})
		} else if b.isObject() {
			blocks = append(blocks, plainBlock(b))
		}
	}
	return blocks
}

func plainBlock(b value) transcript.Block {
	first := func(names ...string) value {
		if at := b.get(names[0]); at.exists() {
			return at
		}
		return b.get(names[1:]...)
	}
	switch typ := b.get("type").str(); typ {
	case "text":
		return transcript.Text{Text: b.get("text").content()}
	case "thinking":
		return transcript.Thinking{
			Text:      b.get("thinking").content(),
			Signature: first("signature", "thinkingSignature").str(),
			Redacted:  b.get("redacted").isTrue(),
		}
	case "tool_use", "toolCall":
		return callOf(b.get("id"), b.get("name"), first("input", "arguments"))
	case "image":
		mime := first("mimeType", "source", "media_type").str()
		return transcript.Image{MediaType: mime, Data: first("data", "source", "data").content()}
	default:
		return transcript.Opaque{Type: typ, Raw: b.raw()}
	}
}
