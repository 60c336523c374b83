package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Check returns the rules of the Chat Completions wire that the request breaks, in the
// provider's words. The zero model gives the rules that hold for all of them.
func (r *ChatRequest) Check(m pleat.Model) []pleat.Violation {
	c := chatChecker{}
	c.reset(r.body.Data)
	if len(r.body.Elements) == 0 {
		c.emptyArray("messages")
	}
	var msg chatMessage
	for i, e := range r.body.Elements {
		// Spans are relative to the element, which is all that is looked at.
		c.scanner.reset(e.Span.Of(r.body.Data))
		c.scanner.chatMessage(&msg)
		c.message(i, &msg)
		c.pairing(i, &msg)
	}
	c.unanswered(len(r.body.Elements) - 1)
	c.reset(r.body.Data)
	c.params(r, m)
	return c.found
}

type chatChecker struct {
	checker
	// The calls that wait for results, while nothing but results has come since.
	waiting map[string]int // id → how many calls have it
	order   []string       // the ids, in order
	since   map[string]int // id → message that answered it
}

func (c *chatChecker) message(i int, m *chatMessage) {
	at := func(rest string) string { return fmt.Sprintf("messages[%d].%s", i, rest) }
	if m.whole.kind != jsonspan.Object {
		c.wrongType(fmt.Sprintf("messages[%d]", i), "an object", m.whole)
		return
	}
	c.parts(m.parts)
	c.required(at("role"), m.role)
	role := c.text(m.role)
	switch role {
	case "user", "system", "developer":
		c.content(i, m, true)
	case "tool":
		c.required(at("tool_call_id"), m.toolCallID)
		c.content(i, m, true)
	case "function":
		c.required(at("name"), m.name)
	case "assistant":
		c.assistant(i, m)
	default:
		if m.role.isString() {
			c.report("role-invalid", at("role"),
				"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
		}
	}
	if role == "assistant" || role == "system" {
		c.noPictures(i, role, m.parts)
	}
}

// content checks content, which may be a string or a list of parts.
func (c *chatChecker) content(i int, m *chatMessage, needed bool) {
	path := fmt.Sprintf("messages[%d].content", i)
	switch m.content.kind {
	case jsonspan.String:
	case jsonspan.Array:
		if len(m.parts) == 0 {
			c.emptyArray(path)
		}
		for k := range m.parts {
			p := &m.parts[k]
			switch {
			case p.whole.kind != jsonspan.Object:
				c.wrongType(fmt.Sprintf("%s[%d]", path, k), "an object", p.whole)
			case !p.typ.given():
				c.missing(fmt.Sprintf("%s[%d].type", path, k))
			case c.text(p.typ) == "text":
				c.required(fmt.Sprintf("%s[%d].text", path, k), p.text)
			}
		}
	case jsonspan.Invalid, jsonspan.Null: // a missing member reads as null
		if needed {
			c.report("content-null", fmt.Sprintf("messages.[%d].content", i), "Invalid value for 'content': expected a string, got null.")
		}
	default:
		c.wrongType(path, "one of a string or array of objects", m.content)
	}
}

func (c *chatChecker) noPictures(i int, role string, parts []part) {
	for k := range parts {
		if c.text(parts[k].typ) == "image_url" {
			c.report("image-role", fmt.Sprintf("messages[%d]", i),
				"Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, role)
			return
		}
	}
}

func (c *chatChecker) assistant(i int, m *chatMessage) {
	path := fmt.Sprintf("messages[%d].tool_calls", i)
	switch {
	case m.toolCalls.kind == jsonspan.Array && len(m.calls) == 0:
		c.emptyArray(path)
	case m.toolCalls.given() && m.toolCalls.kind != jsonspan.Array:
		c.wrongType(path, "an array of objects", m.toolCalls)
	}
	speaks := len(m.calls) > 0 || m.functionCall.given() || m.refusal.given() || m.audio.given()
	c.content(i, m, !speaks)
	for k := range m.calls {
		c.call(fmt.Sprintf("%s[%d]", path, k), &m.calls[k])
	}
}

func (c *chatChecker) call(path string, t *toolCall) {
	if t.whole.kind != jsonspan.Object {
		c.wrongType(path, "an object", t.whole)
		return
	}
	c.required(path+".id", t.id)
	if t.id.isString() {
		c.atMost(path+".id", c.text(t.id), maxItemID)
	}
	switch typ := c.text(t.typ); {
	case !t.typ.given():
		c.missing(path + ".type")
	case typ == "function" && !t.function.given():
		c.missing(path + ".function")
	case typ == "function":
		c.name(path+".function.name", t.name, maxToolName)
		c.required(path+".function.arguments", t.input)
	case typ == "custom" && !t.custom.given():
		c.missing(path + ".custom")
	case typ == "custom":
		c.required(path+".custom.input", t.input)
	}
}

// pairing checks that calls and results stand together: behind an assistant message
// with calls come the results of all of them, and nothing else.
func (c *chatChecker) pairing(i int, m *chatMessage) {
	if c.text(m.role) != "tool" {
		c.unanswered(i)
		for k := range m.calls {
			if c.text(m.role) == "assistant" && m.calls[k].id.isString() {
				c.expect(c.text(m.calls[k].id))
			}
		}
		return
	}
	id := c.text(m.toolCallID)
	if len(c.order) == 0 {
		c.report("tool-result-orphan", fmt.Sprintf("messages.[%d].role", i),
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		return
	}
	left, called := c.waiting[id]
	path := fmt.Sprintf("messages.[%d].tool_call_id", i)
	switch {
	case !m.toolCallID.isString(): // reported as missing
	case !called:
		c.report("tool-result-unknown", path,
			"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id)
	case left == 0:
		c.report("tool-result-duplicate", path,
			"Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", id, c.since[id], i)
	default:
		c.waiting[id], c.since[id] = left-1, i
	}
}

func (c *chatChecker) expect(id string) {
	if c.waiting == nil {
		c.waiting, c.since = make(map[string]int), make(map[string]int)
	}
	c.waiting[id]++
	c.order = append(c.order, id)
}

// unanswered ends the wait for results at message i.
func (c *chatChecker) unanswered(i int) {
	var ids []string
	for _, id := range c.order {
		if c.waiting[id] > 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		c.report("tool-result-missing", fmt.Sprintf("messages.[%d].role", i),
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
				"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
	}
	clear(c.waiting)
	clear(c.since)
	c.order = c.order[:0]
}

// params checks the members beside the messages.
func (c *chatChecker) params(r *ChatRequest, m pleat.Model) {
	p := &r.p
	c.common(&r.Request)
	if !p.functions.given() {
		c.tools(r.Tools, true)
	}
	if p.tools.kind == jsonspan.Array && len(r.Tools) == 0 {
		c.emptyArray("tools")
	}
	if !p.tools.given() && !p.functions.given() {
		c.needsTools("tool_choice", p.toolChoice)
		c.needsTools("parallel_tool_calls", p.parallel)
	}
	if p.maxTokens.given() && p.maxCompletion.given() {
		c.report("max-tokens-twice", "max_tokens",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	if p.streamOptions.given() && !r.Stream {
		c.report("stream-options", "stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if m.MaxOutput > 0 && r.MaxTokens > m.MaxOutput {
		c.report("max-tokens-large", "max_tokens",
			"max_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %[1]d.", r.MaxTokens, m.MaxOutput)
	}
	if m.Refuses.Temperature {
		c.onlyDefault("temperature", p.temperature)
		c.onlyDefault("top_p", p.topP)
	}
}

func (c *chatChecker) needsTools(name string, v value) {
	if v.given() {
		c.report("tools-missing", name, "Invalid value for '%s': '%[1]s' is only allowed when 'tools' are specified.", name)
	}
}

func (c *chatChecker) onlyDefault(name string, v value) {
	if v.given() && !c.isOne(v) {
		c.report(strings.ReplaceAll(name, "_", "-")+"-refused", name,
			"Unsupported value: '%s' does not support %s with this model. Only the default (1) value is supported.", name, c.raw(v))
	}
}
