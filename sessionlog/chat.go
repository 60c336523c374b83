package sessionlog

import "github.com/pleat-dev/pleat/wire/openai"

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
func readChat(l *Log, s *sink) error {
	return readMessages(l, s, l.body("messages"), openai.DecodeChatMessage)
}
