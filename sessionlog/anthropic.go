package sessionlog

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Anthropic is the format of Anthropic Messages request bodies.
const Anthropic Format = "anthropic"

var anthropicFormat = format{
	name:     Anthropic,
	document: func(doc value) bool { return isMessages(doc) && isAnthropic(doc) },
	read:     readAnthropic,
}

// isAnthropic tells Anthropic Messages from Chat Completions. Both are lists of roles and
// contents; what only one of them has decides.
func isAnthropic(doc value) bool {
	list, body := doc, doc.object()
	if doc.isObject() {
		list = body.get("messages")
	}
	for msg := range list.elems() {
		m := msg.object()
		chat := m.get("tool_calls").exists() || slices.Contains([]string{"tool", "system", "developer", "function"}, m.get("role").str())
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
	return body.get("system").exists() || body.get("anthropic_version").exists() || tool.get("input_schema").exists() ||
		!tool.get("function").exists() && strings.Contains(body.get("model").str(), "claude") && body.get("max_tokens").exists()
}

// readAnthropic reads a Messages request body, or a bare list of messages.
func readAnthropic(l *Log, s *sink) error {
	l.info.System = l.doc.get("system").texts()
	return readMessages(l, s, l.body("messages"), func(e value) (transcript.Message, bool) {
		e = e.keep()
		role := e.get("role").str()
		return transcript.WireMessage(transcript.Role(role), transcript.FormatAnthropic, e.raw(), anthropicBlocks(e.get("content"))...), role != ""
	})
}

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
	b, raw := v.object(), v.raw()
	typ := b.get("type")
	switch {
	case typ.is("text") && b.get("text").isString():
		return transcript.Text{Text: b.get("text").content(), Raw: raw}
	case typ.is("thinking") && b.get("thinking").isString():
		return transcript.Thinking{Text: b.get("thinking").content(), Signature: b.get("signature").str(), Raw: raw}
	case typ.is("redacted_thinking"):
		return transcript.Thinking{Signature: b.get("data").str(), Redacted: true, Raw: raw}
	case typ.is("tool_use") && b.get("id").isString() && b.get("name").isString():
		return transcript.ToolCall{ID: b.get("id").str(), Name: b.get("name").str(), Input: transcript.Plain(b.get("input").raw()), Raw: raw}
	case typ.is("tool_result") && b.get("tool_use_id").isString():
		parts := anthropicBlocks(b.get("content"))
		return transcript.ToolResult{CallID: b.get("tool_use_id").str(), Error: b.get("is_error").isTrue(), Parts: transcript.BlocksOf(parts...), Raw: raw}
	case typ.is("image") && b.get("source").isObject():
		source := b.get("source")
		return transcript.Image{
			MediaType: source.get("media_type").str(), Data: source.get("data").content(), URL: source.get("url").str(), Raw: raw,
		}
	}
	return transcript.Opaque{Type: typ.str(), Raw: raw}
}

func anthropicUsage(v value) *model.Usage {
	u := v.object()
	written, hour := u.get("cache_creation_input_tokens").num(), u.get("cache_creation", "ephemeral_1h_input_tokens").num()
	return u.usage(model.Usage{
		Input: u.get("input_tokens").num(), CacheRead: u.get("cache_read_input_tokens").num(),
		CacheWrite: max(written-hour, 0), CacheWrite1h: hour, Output: u.get("output_tokens").num(),
	})
}
