package openai

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
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
	s := scan(body)
	var n chatReply
	s.chatReply(&n)
	if err := s.C.End(); err != nil {
		return model.Reply{}, fmt.Errorf("decode chat reply: %w", err)
	}
	r := model.Reply{ID: s.text(n.id), Model: s.text(n.model), Usage: n.usage}
	if n.failure.given() {
		r.Err = model.ClassifyError(0, "", body)
		return r, nil
	}
	if n.message.whole.kind != jsonspan.Object {
		return r, fmt.Errorf("decode chat reply: %w", errNoChoices)
	}
	b := builder{s}
	b.chatMessage(&n.message)
	r.Messages = s.Messages
	r.StopRaw = s.text(n.finish)
	r.Stop = chatStop(r.StopRaw, s.Messages[0], n.message.refusal.isString())
	return r, nil
}

// chatReply is what the scanner notes of an answer, or of a chunk of one.
type chatReply struct {
	id, model, failure value
	usage              model.Usage
	hasUsage           bool
	found              bool        // the choice with index 0 is there
	message            chatMessage // its message or delta
	finish             value
}

func (s *scanner) chatReply(n *chatReply) {
	message := n.message
	*n = chatReply{message: chatMessage{parts: message.parts[:0], calls: message.calls[:0]}}
	for key := range s.C.Fields {
		switch key {
		case "usage":
			n.usage, n.hasUsage = usage(s.value().Of(s.Data))
		case "choices":
			s.choices(n)
		default:
			s.note(key, []string{"id", "model", "error"}, &n.id, &n.model, &n.failure)
		}
	}
}

func (s *scanner) choices(n *chatReply) {
	var m chatMessage
	for range s.C.Items {
		var index, finish value
		isObject := s.C.Kind() == jsonspan.Object
		m = chatMessage{parts: m.parts[:0], calls: m.calls[:0]}
		for key := range s.C.Fields {
			if key == "message" || key == "delta" {
				s.chatMessage(&m)
			} else {
				s.note(key, []string{"index", "finish_reason"}, &index, &finish)
			}
		}
		if isObject && s.number(index) == 0 && !n.found {
			n.found, n.message, n.finish = true, m, finish
			m = chatMessage{}
		}
	}
}

// chatStop maps finish_reason. Some servers say stop where they wait for a tool's
// result; the calls say what is meant.
func chatStop(finish string, m transcript.Message, refused bool) model.StopReason {
	switch finish {
	case "stop":
		switch {
		case m.Blocks().Has(transcript.KindToolCall):
			return model.StopToolUse
		case refused:
			return model.StopRefusal
		}
		return model.StopEnd
	case "length":
		return model.StopMaxTokens
	case "tool_calls", "function_call":
		return model.StopToolUse
	case "content_filter":
		return model.StopRefusal
	case "model_context_window_exceeded":
		return model.StopWindow
	}
	return model.StopUnknown
}

// usage reads what a request cost, in the words of either format.
func usage(v jsonspan.Value) (model.Usage, bool) {
	var prompt, cached, written, hit, output, reasoning int
	for name, v := range v.Fields() {
		switch name {
		case "prompt_tokens", "input_tokens":
			prompt = v.Int()
		case "completion_tokens", "output_tokens":
			output = v.Int()
		case "prompt_cache_hit_tokens": // DeepSeek
			hit = v.Int()
		case "prompt_tokens_details", "input_tokens_details":
			cached, written = v.Get("cached_tokens").Int(), v.Get("cache_write_tokens").Int()
		case "completion_tokens_details", "output_tokens_details":
			reasoning = v.Get("reasoning_tokens").Int()
		}
	}
	cached = cmp.Or(cached, hit)
	return model.Usage{
		Input:      max(prompt-cached-written, 0),
		CacheRead:  cached,
		CacheWrite: written,
		Output:     output,
		Reasoning:  reasoning,
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
		var it item
		b := builder{scan(raw)}
		b.scanner.item(&it)
		note := b.item(&it)
		msgs = append(msgs, b.Messages...)
		switch {
		case itemTypes[note.typ] == itemCall:
			f.calls = true
		case note.typ == "compaction":
			f.compacted = true
		default:
			f.others = true
		}
		for i := range it.parts {
			f.refused = f.refused || b.text(it.parts[i].typ) == "refusal"
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
