package sessionlog

import (
	"cmp"

	"github.com/pleat-dev/pleat/transcript"
)

// OpenAIChat is the format of Chat Completions request bodies.
const OpenAIChat Format = "openai-chat"

// chatFormat takes every list of messages that no other format takes.
var chatFormat = format{name: OpenAIChat, document: isMessages, read: readChat}

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
func readChat(l *Log, s *sink) error {
	return readMessages(l, s, l.body("messages"), chatMessage)
}

// chatMessage decodes a message of the Chat Completions wire. It reports false if the
// element is none.
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
		id := cmp.Or(e.get("tool_call_id").str(), e.get("name").str()) // the old function form has no ids
		res := transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(openaiParts(content)...), Raw: e.raw()}
		return transcript.WireMessage(transcript.RoleTool, transcript.FormatChat, e.raw(), res), true
	}
	var blocks []transcript.Block
	if r := e.get("reasoning_content"); r.isString() && !r.content().IsEmpty() {
		blocks = append(blocks, transcript.Thinking{Text: r.content()})
	}
	blocks = append(blocks, openaiParts(content)...)
	for _, c := range chatCalls(e) {
		blocks = append(blocks, c)
	}
	return transcript.WireMessage(transcript.Role(role), transcript.FormatChat, e.raw(), blocks...), true
}

func chatCalls(e object) []transcript.ToolCall {
	var calls []transcript.ToolCall
	for call := range e.get("tool_calls").elems() {
		f := call.get("function")
		input := f.get("arguments")
		if custom := call.get("custom"); custom.isObject() {
			f, input = custom, custom.get("input")
		}
		calls = append(calls, transcript.ToolCall{ID: call.get("id").str(), Name: f.get("name").str(), Input: arguments(input), Raw: call.raw()})
	}
	if f := e.get("function_call"); f.isObject() && len(calls) == 0 {
		name := f.get("name").str()
		calls = append(calls, transcript.ToolCall{ID: name, Name: name, Input: arguments(f.get("arguments")), Raw: f.raw()})
	}
	return calls
}
