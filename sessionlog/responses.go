package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

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
func readResponses(l *Log, s *sink) error {
	l.info.System = l.doc.get("instructions").str()
	list := l.body("input")
	if list.isString() {
		return s.add(Record{Message: transcript.User(list.str()), Line: l.docAt})
	}
	return readMessages(l, s, list, openai.DecodeItem)
}
