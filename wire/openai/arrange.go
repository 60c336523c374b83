package openai

import (
	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/transcript"
)

// arrange puts messages of other wires into the order that the Chat wire wants: the calls of
// an answer in one message, and their results right after it. Messages in the right order
// are returned as they are.
func arrange(msgs []transcript.Message) []transcript.Message { return order.Results(oneAnswer(msgs)) }

// oneAnswer joins assistant messages that follow each other, which on the Responses
// wire are one answer. Messages of the Chat wire stay apart unless calls demand it.
func oneAnswer(msgs []transcript.Message) []transcript.Message {
	out := make([]transcript.Message, 0, len(msgs))
	for _, m := range msgs {
		n := len(out)
		if n == 0 || m.Role() != transcript.RoleAssistant || out[n-1].Role() != transcript.RoleAssistant {
			out = append(out, m)
			continue
		}
		last := out[n-1]
		if (isChat(last) || isChat(m)) && !last.Blocks().Has(transcript.KindToolCall) {
			out = append(out, m)
			continue
		}
		out[n-1] = transcript.Assistant(append(last.Blocks().List(), m.Blocks().List()...)...)
	}
	return out
}

// isChat reports whether a message goes as it came.
func isChat(m transcript.Message) bool { return m.Format() == transcript.FormatChat && m.Raw() != "" }
