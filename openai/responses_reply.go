package openai

import (
	"fmt"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// DecodeResponsesReply reads the answer to a request that did not stream, also that of
// the compact endpoint. The messages, one for each item, share the body's memory. An
// answer that is an error becomes the reply's Err.
func DecodeResponsesReply(body []byte) (pleat.Reply, error) {
	var s scanner
	s.reset(body)
	var n responseNote
	s.response(&n)
	if err := s.c.End(); err != nil {
		return pleat.Reply{}, fmt.Errorf("decode responses reply: %w", err)
	}
	if !n.failure.given() && n.output.kind != jsonspan.Array {
		return pleat.Reply{}, fmt.Errorf("decode responses reply: %w", errNoChoices)
	}
	items := make([][]byte, len(n.items))
	for i, v := range n.items {
		items[i] = v.Of(body)
	}
	return s.finish(&n, items), nil
}

// responseNote is what the scanner notes of a response object.
type responseNote struct {
	id, model, status, failure, reason value
	output                             value
	items                              []value
	usage                              pleat.Usage
}

func (s *scanner) response(n *responseNote) {
	for key := range s.c.Fields {
		switch key {
		case "id":
			n.id = s.value()
		case "model":
			n.model = s.value()
		case "status":
			n.status = s.value()
		case "error":
			n.failure = s.value()
		case "incomplete_details":
			n.reason = value{}
			s.inside(&n.reason, "reason", "reason")
		case "usage":
			n.usage, _ = s.usage()
		case "output":
			start, kind := s.c.Pos(), s.c.Kind()
			n.items = n.items[:0]
			for range s.c.Items {
				n.items = append(n.items, s.value())
			}
			n.output = s.since(start, kind)
		}
	}
}

// finish makes a reply of a response and its items.
func (s *scanner) finish(n *responseNote, items [][]byte) pleat.Reply {
	r := pleat.Reply{ID: s.text(n.id), Model: s.text(n.model), Usage: n.usage, StopRaw: s.text(n.status)}
	reason := s.text(n.reason)
	if reason != "" {
		r.StopRaw = reason
	}
	status := s.text(n.status)
	if n.failure.given() || status == "failed" {
		failure := `"response failed"`
		if n.failure.given() {
			failure = s.raw(n.failure)
		}
		var w writer
		w.raw("{").key("error").raw(failure).end("}")
		r.Err = pleat.ClassifyError(0, "", w.b)
	}
	var facts itemFacts
	r.Messages, facts = decodeItems(items)
	r.Stop = responsesStop(status, reason, facts)
	return r
}

// itemFacts are what the reason for stopping depends on.
type itemFacts struct{ calls, refused, compacted, others bool }

// decodeItems decodes items that lie apart from each other.
func decodeItems(items [][]byte) ([]pleat.Message, itemFacts) {
	var f itemFacts
	msgs := make([]pleat.Message, 0, len(items))
	for _, raw := range items {
		var s scanner
		var it item
		s.reset(raw)
		s.item(&it)
		b := builder{scanner: &s}
		msg, _, note := b.item(&it)
		msgs = append(msgs, msg)
		switch {
		case itemTypes[note.typ] == itemCall:
			f.calls = true
		case note.typ == "compaction":
			f.compacted = true
		default:
			f.others = true
		}
		for i := range it.parts {
			f.refused = f.refused || s.text(it.parts[i].typ) == "refusal"
		}
	}
	return msgs, f
}

func responsesStop(status, reason string, f itemFacts) pleat.StopReason {
	switch {
	case reason == "max_output_tokens":
		return pleat.StopMaxTokens
	case reason == "content_filter":
		return pleat.StopRefusal
	case f.compacted && !f.calls && (!f.others || status == ""): // asked for by a trigger, or at the endpoint
		return pleat.StopCompact
	case status != "completed":
		return pleat.StopUnknown
	case f.calls:
		return pleat.StopToolUse
	case f.refused:
		return pleat.StopRefusal
	}
	return pleat.StopEnd
}
