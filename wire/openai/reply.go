package openai

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

var errNoChoices = errors.New("neither an answer nor an error")

// DecodeChatReply reads the answer to a request that did not stream. The messages share
// the body's memory. An answer that is an error becomes the reply's Err.
//
// Of several choices the one with index 0 is the answer: a conversation can only go on
// with one of them.
func DecodeChatReply(body []byte) (model.Reply, error) {
	v := jsonspan.Value(body)
	if err := v.Valid(jsonspan.Invalid); err != nil {
		return model.Reply{}, fmt.Errorf("decode chat reply: %w", err)
	}
	r := model.Reply{ID: v.Get("id").Text(), Model: v.Get("model").Text()}
	if r.Usage, _ = usage(v.Get("usage")); v.Get("error") != nil {
		r.Err = model.ClassifyError(0, "", body)
		return r, nil
	}
	choice := wire.First(v.Get("choices"))
	said := choice.Get("message")
	if said.Kind() != jsonspan.Object {
		return r, fmt.Errorf("decode chat reply: %w", errNoChoices)
	}
	m, msg, _ := readChatMessage(said)
	r.Messages = []transcript.Message{msg}
	r.StopRaw = choice.Get("finish_reason").Text()
	r.Stop = chatStop(r.StopRaw, msg, m.Get("refusal").IsString())
	return r, nil
}

// readChatMessage decodes an element of a messages array, which shares its memory. It reports false if it is
// nested deeper than a request may be.
func readChatMessage(raw []byte) (m object, msg transcript.Message, ok bool) {
	b := builder{scan(raw)}
	m = b.Object(b.Value())
	if b.C.End() != nil {
		return m, msg, false
	}
	b.chatMessage(m)
	return m, b.Messages[0], true
}

// chatStops are the wire's words; any other is [model.StopUnknown].
var chatStops = map[string]model.StopReason{
	"stop":                          model.StopEnd,
	"length":                        model.StopMaxTokens,
	"tool_calls":                    model.StopToolUse,
	"function_call":                 model.StopToolUse,
	"content_filter":                model.StopRefusal,
	"model_context_window_exceeded": model.StopWindow,
}

// chatStop maps finish_reason. Some servers say stop where they wait for a tool's
// result; the calls say what is meant.
func chatStop(finish string, m transcript.Message, refused bool) model.StopReason {
	switch stop := chatStops[finish]; {
	case stop == model.StopEnd && m.Blocks().Has(transcript.KindToolCall):
		return model.StopToolUse
	case stop == model.StopEnd && refused:
		return model.StopRefusal
	default:
		return stop
	}
}

// usage reads what a request cost, in the words of either format.
func usage(v jsonspan.Value) (model.Usage, bool) {
	count := func(chat, responses string, path ...any) int {
		at := func(name string) []any { return append([]any{name}, path...) }
		return cmp.Or(v.Get(at(chat)...).Int(), v.Get(at(responses)...).Int())
	}
	cached := cmp.Or(count("prompt_tokens_details", "input_tokens_details", "cached_tokens"),
		v.Get("prompt_cache_hit_tokens").Int()) // DeepSeek
	written := count("prompt_tokens_details", "input_tokens_details", "cache_write_tokens")
	return model.Usage{
		Input:      max(count("prompt_tokens", "input_tokens")-cached-written, 0),
		CacheRead:  cached,
		CacheWrite: written,
		Output:     count("completion_tokens", "output_tokens"),
		Reasoning:  count("completion_tokens_details", "output_tokens_details", "reasoning_tokens"),
	}, v.Kind() == jsonspan.Object
}

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
		b := builder{scan(raw)}
		it := b.Object(b.Value())
		note := b.item(it)
		msgs = append(msgs, b.Messages...)
		switch {
		case itemTypes[note.typ] == itemCall:
			f.calls = true
		case note.typ == "compaction":
			f.compacted = true
		default:
			f.others = true
		}
		for _, p := range b.List(it.Get("content")) {
			f.refused = f.refused || b.Text(p.Get("type")) == "refusal"
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
