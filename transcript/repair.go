package transcript

import "slices"

// Unanswered returns the tool calls in a conversation that have no result, in the order
// in which they were made. Given the messages of a single reply, it returns all calls in
// them.
func Unanswered(msgs ...Message) []ToolCall {
	var calls []ToolCall
	unanswered(msgs, func(_ int, c ToolCall) { calls = append(calls, c) })
	return calls
}

// Repair answers the tool calls that have no result, as after a crash or a cancelled run:
// providers refuse a conversation with such a call in it. Each gets an error result with
// the text that text returns for it, which is what the model is told about the call. The
// results of one answer are one new message right after it, so a conversation that ends
// with calls gets its results at the end. The given messages stay as they are, and a
// conversation without such calls is returned as it is.
func Repair(msgs []Message, text func(ToolCall) string) []Message {
	results := make(map[int][]ToolResult) // by the message they go before
	unanswered(msgs, func(end int, c ToolCall) { results[end] = append(results[end], ErrorResult(c.ID, text(c))) })
	if len(results) == 0 {
		return msgs
	}
	repaired := make([]Message, 0, len(msgs)+len(results))
	for i := range len(msgs) + 1 {
		if results[i] != nil {
			repaired = append(repaired, Results(results[i]...))
		}
		if i < len(msgs) {
			repaired = append(repaired, msgs[i])
		}
	}
	return repaired
}

// unanswered calls visit for each call without a result, with the end of its answer.
func unanswered(msgs []Message, visit func(end int, c ToolCall)) {
	t := NewTranscript(msgs...)
	for _, r := range t.rounds {
		end := r.Calls[len(r.Calls)-1].Call.Message + 1
		if n := slices.IndexFunc(msgs[end:], func(m Message) bool { return m.role != RoleAssistant }); n >= 0 {
			end += n
		} else {
			end = len(msgs)
		}
		for _, c := range r.Calls {
			if !c.Answered {
				visit(end, t.Block(c.Call).(ToolCall))
			}
		}
	}
}
