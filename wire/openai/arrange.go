package openai

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/transcript"
)

// arrange puts messages of other wires into the order that the Chat wire wants: the calls of
// an answer in one message, and their results right after it. Messages in the right order
// are returned as they are.
func arrange(msgs []transcript.Message) []transcript.Message { return order.Results(oneAnswer(msgs)) }

// oneSystem joins system messages among the turns of a view that a fold has left side by side, since
// templates of some servers refuse two. Those that the client has put so stay apart.
func (r *ChatRequest) oneSystem(view []transcript.ViewMessage) []transcript.ViewMessage {
	out := make([]transcript.ViewMessage, 0, len(view))
	for _, vm := range view {
		n := len(out) - 1
		if n < 0 || vm.Source == out[n].Source+1 || !isSystem(r.shown(vm)) || !isSystem(r.shown(out[n])) {
			out = append(out, vm)
			continue
		}
		out[n] = transcript.ViewMessage{Source: -1, Made: both(r.shown(out[n]), r.shown(vm))}
	}
	return out
}

// both is what two system messages say.
func both(a, b transcript.Message) transcript.Message {
	return transcript.NewMessage(b.Role(), transcript.Say(a.Text()+"\n\n"+b.Text()))
}

// shown is a message of a view, without its edits, which system messages have none of.
func (r *ChatRequest) shown(vm transcript.ViewMessage) transcript.Message {
	if vm.Source < 0 || vm.Source >= len(r.Messages) {
		return vm.Made
	}
	return r.Messages[vm.Source]
}

func isSystem(m transcript.Message) bool {
	return m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper
}

// oneAnswer joins assistant messages that follow each other, which on the Responses
// wire are one answer. Messages of the Chat wire stay apart unless calls demand it. System
// messages among the turns become one as well, as in oneSystem.
func oneAnswer(msgs []transcript.Message) []transcript.Message {
	out := make([]transcript.Message, 0, len(msgs))
	turns := slices.IndexFunc(msgs, func(m transcript.Message) bool { return !isSystem(m) })
	for i, m := range msgs {
		n := len(out)
		if i > turns && turns >= 0 && isSystem(m) && isSystem(out[n-1]) {
			out[n-1] = both(out[n-1], m)
			continue
		}
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
