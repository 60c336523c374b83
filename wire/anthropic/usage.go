package anthropic

import (
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
)

// meter collects a usage object that comes in pieces, each of which repeats what has
// changed with its new total.
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

// set takes over a count. A null or a negative number is no news.
func set(dst *int, value jsonspan.Value) {
	if value.Kind() == jsonspan.Number {
		*dst = max(value.Int(), 0)
	}
}

// stopReason translates the wire's word.
func stopReason(word string) model.StopReason {
	switch word {
	case "end_turn", "stop_sequence":
		return model.StopEnd
	case "tool_use":
		return model.StopToolUse
	case "max_tokens":
		return model.StopMaxTokens
	case "model_context_window_exceeded":
		return model.StopWindow
	case "refusal":
		return model.StopRefusal
	case "pause_turn":
		return model.StopPause
	case "compaction":
		return model.StopCompact
	}
	return model.StopUnknown
}
