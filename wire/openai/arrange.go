package openai

import (
	"github.com/pleat-dev/pleat/transcript"
)

// arrange puts messages of other wires into the order that the Chat wire wants: the calls of
// an answer in one message, and their results right after it. Messages in the right order
// are returned as they are.
func arrange(msgs []transcript.Message) []transcript.Message {
	msgs = oneAnswer(msgs)
	tr := transcript.NewTranscript(msgs...)
	moved := make(map[transcript.BlockRef]bool)
	behind := make(map[int][]transcript.BlockRef) // message → results to put behind it
	for i := range tr.Rounds() {
		for _, c := range tr.Round(i).Calls {
			if c.Answered && !inPlace(msgs, c) {
				moved[c.Result] = true
				at := endOfResults(msgs, c.Call.Message)
				behind[at] = append(behind[at], c.Result)
			}
		}
	}
	if len(moved) == 0 {
		return msgs
	}
	out := make([]transcript.Message, 0, len(msgs)+len(behind))
	for i := range msgs {
		if m, ok := without(msgs[i], i, moved); ok {
			out = append(out, m)
		}
		for _, ref := range behind[i] {
			if m := msgs[ref.Message]; m.Blocks().Len() == 1 {
				out = append(out, m) // as it came
			} else {
				out = append(out, transcript.NewMessage(transcript.RoleTool, tr.Block(ref)))
			}
		}
	}
	return out
}

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

// inPlace reports whether nothing but results stands between a call and its result.
func inPlace(msgs []transcript.Message, c transcript.CallState) bool {
	return c.Result.Message > c.Call.Message && c.Result.Message <= endOfResults(msgs, c.Call.Message)
}

// endOfResults returns the last of the messages with results that follow message i, or
// i if there is none.
func endOfResults(msgs []transcript.Message, i int) int {
	for i+1 < len(msgs) && msgs[i+1].Blocks().Has(transcript.KindToolResult) {
		i++
	}
	return i
}

// without returns a message without the results that were moved. It reports false if nothing
// is left.
func without(m transcript.Message, i int, moved map[transcript.BlockRef]bool) (transcript.Message, bool) {
	var left []transcript.Block
	for k, b := range m.Blocks().All() {
		if !moved[transcript.BlockRef{Message: i, Block: k}] {
			left = append(left, b)
		}
	}
	if len(left) == m.Blocks().Len() {
		return m, true
	}
	return transcript.NewMessage(m.Role(), left...), len(left) > 0
}
