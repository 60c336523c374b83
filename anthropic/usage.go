package anthropic

import (
	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Iteration is one of the model calls that a single request led to on the provider's
// side: the answer itself ("message"), a compaction before it, an advisor's or a
// fallback model's part. Each is billed.
type Iteration struct {
	Type  string
	Usage pleat.Usage
}

// Iterations reads the model calls of a complete answer's body. There are none when the
// provider did not list them; then the answer's usage is all there is.
func Iterations(body []byte) []Iteration {
	var m meter
	m.merge(lookup(body, "usage"))
	return m.iterations
}

// Billed is what a request cost in all: the sum of its iterations where they are
// listed, since the usage of the answer leaves compactions out, and that usage else.
func Billed(usage pleat.Usage, iterations []Iteration) pleat.Usage {
	if len(iterations) == 0 {
		return usage
	}
	var sum pleat.Usage
	for _, it := range iterations {
		sum.Input += it.Usage.Input
		sum.CacheRead += it.Usage.CacheRead
		sum.CacheWrite += it.Usage.CacheWrite
		sum.CacheWrite1h += it.Usage.CacheWrite1h
		sum.Output += it.Usage.Output
		sum.Reasoning += it.Usage.Reasoning
	}
	return sum
}

// ContextSize is the size of the prompt that the conversation has now: that of the
// newest call that answered it. With server tools one answer takes several calls, and
// the sum of their prompts says nothing about the window.
func ContextSize(usage pleat.Usage, iterations []Iteration) int {
	for i := len(iterations) - 1; i >= 0; i-- {
		if iterations[i].Type == "message" {
			return iterations[i].Usage.Prompt()
		}
	}
	return usage.Prompt()
}

// meter collects a usage object that comes in pieces, each of which repeats what has
// changed with its new total.
type meter struct {
	usage      pleat.Usage
	written    int // to the cache, with any lifetime
	iterations []Iteration
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
		case "iterations":
			m.iterations = m.iterations[:0]
			for _, it := range elements(value) {
				var one meter
				one.merge(it)
				m.iterations = append(m.iterations, Iteration{Type: text(lookup(it, "type")), Usage: one.usage})
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
