package anthropic

import (
	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// meter collects a usage object that comes in pieces, each of which repeats what has
// changed with its new total.
type meter struct {
	usage   pleat.Usage
	written int // to the cache, with any lifetime
}

func (m *meter) merge(usage []byte) {
	for name, value := range members(usage) {
		switch name {
		case "input_tokens":
			set(&m.usage.Input, value)
		case "cache_read_input_tokens":
			set(&m.usage.CacheRead, value)
		case "cache_creation_input_tokens":
			set(&m.written, value)
		case "cache_creation":
			if long := lookup(value, "ephemeral_1h_input_tokens"); long != nil {
				set(&m.usage.CacheWrite1h, long)
			}
		case "output_tokens":
			set(&m.usage.Output, value)
		case "output_tokens_details":
			if thought := lookup(value, "thinking_tokens"); thought != nil {
				set(&m.usage.Reasoning, thought)
			}
		}
	}
	m.usage.CacheWrite = max(m.written-m.usage.CacheWrite1h, 0)
}

// set takes over a count. A null or a negative number is no news.
func set(dst *int, value []byte) {
	if kindOf(value) == jsonspan.Number {
		*dst = max(number(value), 0)
	}
}

// stopReason translates the wire's word.
func stopReason(word string) pleat.StopReason {
	switch word {
	case "end_turn", "stop_sequence":
		return pleat.StopEnd
	case "tool_use":
		return pleat.StopToolUse
	case "max_tokens":
		return pleat.StopMaxTokens
	case "model_context_window_exceeded":
		return pleat.StopWindow
	case "refusal":
		return pleat.StopRefusal
	case "pause_turn":
		return pleat.StopPause
	case "compaction":
		return pleat.StopCompact
	}
	return pleat.StopUnknown
}
