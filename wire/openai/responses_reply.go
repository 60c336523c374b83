package openai

import (
	"cmp"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DecodeResponsesReply reads the answer to a request that did not stream, also that of
// the compact endpoint. The messages, one for each item, share the body's memory. An
// answer that is an error becomes the reply's Err.
func DecodeResponsesReply(body []byte) (model.Reply, error) {
	v := jsonspan.Value(body)
	if err := v.Valid(jsonspan.Invalid); err != nil {
		return model.Reply{}, fmt.Errorf("decode responses reply: %w", err)
	}
	output := v.Get("output")
	if v.Get("error") == nil && output.Kind() != jsonspan.Array {
		return model.Reply{}, fmt.Errorf("decode responses reply: %w", errNoChoices)
	}
	var items [][]byte
	for item := range output.Elements() {
		items = append(items, item.Of(output))
	}
	return responsesReply(v, items), nil
}

// responsesReply makes a reply of a response and its items.
func responsesReply(v jsonspan.Value, items [][]byte) model.Reply {
	status, reason := v.Get("status").Text(), v.Get("incomplete_details", "reason").Text()
	r := model.Reply{ID: v.Get("id").Text(), Model: v.Get("model").Text(), StopRaw: cmp.Or(reason, status)}
	r.Usage, _ = usage(v.Get("usage"))
	failure := v.Get("error")
	if failure == nil && status == "failed" {
		failure = jsonspan.Value(`"response failed"`)
	}
	if failure != nil {
		var w writer
		w.raw("{").key("error").raw(string(failure)).end("}")
		r.Err = model.ClassifyError(0, "", w.b)
	}
	var facts itemFacts
	r.Messages, facts = decodeItems(items)
	r.Stop = responsesStop(status, reason, facts)
	return r
}

// itemFacts are what the reason for stopping depends on.
type itemFacts struct{ calls, refused, compacted, others bool }

// decodeItems decodes items that lie apart from each other.
func decodeItems(items [][]byte) ([]transcript.Message, itemFacts) {
	var f itemFacts
	msgs := make([]transcript.Message, 0, len(items))
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

func responsesStop(status, reason string, f itemFacts) model.StopReason {
	switch {
	case reason == "max_output_tokens":
		return model.StopMaxTokens
	case reason == "content_filter":
		return model.StopRefusal
	case f.compacted && !f.calls && (!f.others || status == ""): // asked for by a trigger, or at the endpoint
		return model.StopCompact
	case status != "completed":
		return model.StopUnknown
	case f.calls:
		return model.StopToolUse
	case f.refused:
		return model.StopRefusal
	}
	return model.StopEnd
}
