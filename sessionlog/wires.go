package sessionlog

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
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
func (s *sink) readMessages(list value, decode transcript.Codec) error {
	return s.each(list, func(e value, num int) error {
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

// callOf is a call whose input is a string that holds JSON, or JSON itself.
func callOf(id, name, input value) transcript.ToolCall {
	arguments := input.content()
	if !input.isString() {
		arguments = transcript.Plain(input.raw())
	}
	return transcript.ToolCall{ID: id.str(), Name: name.str(), Input: arguments}
}

func resultOf(id value, failed bool, parts ...transcript.Block) transcript.ToolResult {
	return transcript.ToolResult{CallID: id.str(), Error: failed, Parts: transcript.BlocksOf(parts...)}
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

// textBlocks are those of the texts that are not empty.
func textBlocks(texts ...value) []transcript.Block {
	var blocks []transcript.Block
	for _, t := range texts {
		if c := t.content(); !c.IsEmpty() {
			blocks = append(blocks, transcript.Text{Text: c})
		}
	}
	return blocks
}

// thinkingBlocks is thinking that has a text, or a signature alone.
func thinkingBlocks(text value, signature string) []transcript.Block {
	c := text.content()
	if c.IsEmpty() && signature == "" {
		return nil
	}
	return []transcript.Block{transcript.Thinking{Text: c, Signature: signature, Redacted: c.IsEmpty()}}
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

// either is the member of one name, or what is found by the others.
func either(v value, name string, other ...string) value {
	if at := v.get(name); at.exists() {
		return at
	}
	return v.get(other...)
}

func plainBlock(b value) transcript.Block {
	switch typ := b.get("type").str(); typ {
	case "text":
		return transcript.Text{Text: b.get("text").content()}
	case "thinking":
		return transcript.Thinking{
			Text:      b.get("thinking").content(),
			Signature: either(b, "signature", "thinkingSignature").str(),
			Redacted:  b.get("redacted").isTrue(),
		}
	case "tool_use", "toolCall":
		return callOf(b.get("id"), b.get("name"), either(b, "input", "arguments"))
	case "image":
		mime := either(b, "mimeType", "source", "media_type").str()
		return transcript.Image{MediaType: mime, Data: either(b, "data", "source", "data").content()}
	default:
		return transcript.Opaque{Type: typ, Raw: b.raw()}
	}
}

var anthropicFormat = format{
	name:     "anthropic",
	document: func(doc value) bool { return isMessages(doc) && isAnthropic(doc) },
	read:     readAnthropic,
}

// chatRoles are roles that Anthropic Messages do not have.
var chatRoles = []string{"tool", "system", "developer", "function"}

// isAnthropic tells Anthropic Messages from Chat Completions. Both are lists of roles and
// contents; what only one of them has decides.
func isAnthropic(doc value) bool {
	list, body := doc, doc
	if doc.isObject() {
		list = body.get("messages")
	}
	for m := range list.elems() {
		chat := m.get("tool_calls").exists() || slices.Contains(chatRoles, m.get("role").str())
		for b := range m.get("content").elems() {
			switch b.get("type").str() {
			case "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use":
				return true
			case "image_url", "input_audio", "file", "refusal":
				return false
			}
			if chat {
				break
			}
		}
		if chat {
			return false
		}
	}
	tool := body.get("tools").at(0)
	if body.get("system").exists() || body.get("anthropic_version").exists() || tool.get("input_schema").exists() {
		return true
	}
	claude := strings.Contains(body.get("model").str(), "claude") && body.get("max_tokens").exists()
	return claude && !tool.get("function").exists()
}

// readAnthropic reads a Messages request body, or a bare list of messages.
func readAnthropic(s *sink) error {
	s.info.System = s.doc.get("system").texts()
	return s.readMessages(s.body("messages"), anthropic.DecodeMessage)
}

func anthropicUsage(u value) *model.Usage {
	used := u.usage("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "")
	if used != nil {
		used.CacheWrite1h = u.get("cache_creation", "ephemeral_1h_input_tokens").num()
		used.CacheWrite = max(used.CacheWrite-used.CacheWrite1h, 0)
	}
	return used
}

// chatFormat takes every list of messages that no other format takes.
var chatFormat = format{name: "openai-chat", document: isMessages, read: readChat}

// isMessages reports whether a document is a request body with messages, or a bare list of
// messages.
func isMessages(doc value) bool {
	if doc.isArray() {
		return doc.at(0).get("role").isString()
	}
	messages := doc.get("messages")
	first := messages.at(0)
	return messages.isArray() && (first.get("role").isString() || !first.exists() && doc.get("model").isString())
}

// readChat reads a Chat Completions request body, or a bare list of messages.
func readChat(s *sink) error { return s.readMessages(s.body("messages"), openai.DecodeChatMessage) }

var responsesFormat = format{
	name: "openai-responses",
	document: func(doc value) bool {
		if doc.isArray() {
			first := doc.at(0)
			return first.get("role").isString() && first.get("type").is("message") || first.get("call_id").isString()
		}
		input := doc.get("input")
		return doc.get("model").isString() && (input.isArray() || input.isString()) && !isMessages(doc)
	},
	read: readResponses,
}

// readResponses reads a Responses request body, or a bare list of items.
func readResponses(s *sink) error {
	s.info.System = s.doc.get("instructions").str()
	list := s.body("input")
	if list.isString() {
		return s.add(Record{Message: transcript.User(list.str()), Line: s.docAt})
	}
	return s.readMessages(list, openai.DecodeItem)
}
