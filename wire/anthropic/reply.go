package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DecodeReply reads a complete answer, the body of a response that was not streamed.
// The body must not be changed afterwards.
//
// Reply.Messages has one message, whose Raw is the element to send back in the next
// request, or none if the answer has no content. Text blocks of white space alone, which
// models sometimes write and the provider refuses to take back, are left out. Reply.Usage is
// the usage of the answer itself, without compactions and other calls on the way.
//
// An error body gives a Reply with only Err set, and no error.
func DecodeReply(body []byte) (model.Reply, error) {
	whole := jsonspan.Value(body)
	if err := whole.Valid(jsonspan.Object); err != nil {
		return model.Reply{}, fmt.Errorf("decode reply: %w", err)
	}
	if whole.Get("type").Text() == "error" {
		return model.Reply{Err: model.ClassifyError(0, "", body)}, nil
	}
	content := whole.Get("content")
	if content.Kind() != jsonspan.Array {
		return model.Reply{}, fmt.Errorf("decode reply: no content array")
	}
	r := recorder{Stream: wire.Stream{Over: true}}
	r.start(whole)
	for b := range content.Elements() {
		r.blocks = append(r.blocks, &streamBlock{start: b.Of(content), stopped: true})
	}
	return r.Reply()
}

// assistant makes the message of an answer from its blocks; without blocks there is none.
func assistant(blocks [][]byte) []transcript.Message {
	blocks = slices.DeleteFunc(blocks, emptyText)
	if len(blocks) == 0 {
		return nil
	}
	r, ok := message(element("assistant", bytes.Join(blocks, []byte{','})))
	if !ok { // nested deeper than Decode takes, so it could not be sent back
		return nil
	}
	return r.Messages
}

// emptyText reports whether a block is blank text, which the provider would refuse.
func emptyText(block []byte) bool {
	v := jsonspan.Value(block)
	lit := v.Get("text")
	return v.Get("type").Text() == "text" && lit.Kind() == jsonspan.String && blank(lit.Text())
}

// meter collects a usage object that comes in pieces. Each piece repeats the counts that have
// changed, with their new totals.
type meter struct {
	usage   model.Usage
	written int // to the cache, with any lifetime
}

func (m *meter) merge(usage jsonspan.Value) {
	for name, value := range usage.Fields() {
		switch name {
		case "input_tokens":
			set(&m.usage.Input, value)
		case "cache_read_input_tokens":
			set(&m.usage.CacheRead, value)
		case "cache_creation_input_tokens":
			set(&m.written, value)
		case "cache_creation":
			set(&m.usage.CacheWrite1h, value.Get("ephemeral_1h_input_tokens"))
		case "output_tokens":
			set(&m.usage.Output, value)
		case "output_tokens_details":
			set(&m.usage.Reasoning, value.Get("thinking_tokens"))
		}
	}
	m.usage.CacheWrite = max(m.written-m.usage.CacheWrite1h, 0)
}

// set stores a count. Null changes nothing, and a negative number counts as 0.
func set(dst *int, value jsonspan.Value) {
	if value.Kind() == jsonspan.Number {
		*dst = max(value.Int(), 0)
	}
}

// stopReasons are the provider's words; any other is [model.StopUnknown].
var stopReasons = map[string]model.StopReason{
	"end_turn":                      model.StopEnd,
	"stop_sequence":                 model.StopEnd,
	"tool_use":                      model.StopToolUse,
	"max_tokens":                    model.StopMaxTokens,
	"model_context_window_exceeded": model.StopWindow,
	"refusal":                       model.StopRefusal,
	"pause_turn":                    model.StopPause,
	"compaction":                    model.StopCompact,
}
