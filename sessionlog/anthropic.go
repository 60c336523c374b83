package sessionlog

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

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
func readAnthropic(l *Log, s *sink) error {
	l.info.System = l.doc.get("system").texts()
	return readMessages(l, s, l.body("messages"), anthropic.DecodeMessage)
}

func anthropicUsage(u value) *model.Usage {
	used := u.usage("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
	if used != nil {
		used.CacheWrite1h = u.get("cache_creation", "ephemeral_1h_input_tokens").num()
		used.CacheWrite = max(used.CacheWrite-used.CacheWrite1h, 0)
	}
	return used
}
