package sessionlog

import (
	"cmp"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// OpenAIResponses is the format of Responses request bodies.
const OpenAIResponses Format = "openai-responses"

var responsesFormat = format{
	name: OpenAIResponses,
	document: func(doc value) bool {
		if doc.isArray() {
			first := doc.at(0).object()
			return first.get("role").isString() && first.get("type").is("message") || first.get("call_id").isString()
		}
		input := doc.get("input")
		return doc.get("model").isString() && (input.isArray() || input.isString()) && !isMessages(doc)
	},
	read: readResponses,
}

// readResponses reads a Responses request body, or a bare list of items.
func readResponses(l *Log, s *sink) error {
	l.info.System = l.doc.get("instructions").str()
	list := l.body("input")
	if list.isString() {
		return s.add(Record{Message: transcript.User(list.str()), Line: l.docAt})
	}
	return readMessages(l, s, list, responsesItem)
}

// responsesItem decodes an item of the Responses wire. It reports false if the element is
// none.
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
		name := cmp.Or(v.get("name").str(), strings.TrimSuffix(typ, "_call"))
		return wire(transcript.RoleAssistant, transcript.ToolCall{ID: v.get("call_id").str(), Name: name, Input: arguments(input), Raw: v.raw()})
	case strings.HasSuffix(typ, "_call_output"):
		res := transcript.ToolResult{CallID: v.get("call_id").str(), Parts: transcript.BlocksOf(outputParts(v.get("output"))...), Raw: v.raw()}
		return wire(transcript.RoleTool, res)
	case typ == "":
		return transcript.Message{}, false
	}
	return wire(transcript.RoleAssistant, transcript.Opaque{Type: typ, Raw: v.raw()})
}

// outputParts decodes what a tool returned: a string, parts, or an object around either.
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
