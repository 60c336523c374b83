package transcript

import (
	"fmt"
)

// Check holds a view to the rules that every wire shares: folding may not take a
// call from its result or a result from its call, may not put messages out of order,
// leave one empty, or let the conversation end on words put into the assistant's mouth.
// What was already wrong in the transcript is not the view's fault.
func (v View) Check(t *Transcript) []Violation {
	var out []Violation
	bad := func(i int, rule, format string, args ...any) {
		out = append(out, Violation{Rule: rule, Path: fmt.Sprintf("view.%d", i), Message: fmt.Sprintf(format, args...)})
	}
	shown := make(map[BlockRef]bool)
	last := -1
	for i, m := range v.Messages {
		if m.Source < 0 {
			if m.Made.Blocks().Len() == 0 || m.Made.Text() == "" {
				bad(i, "empty-message", "a made message is empty")
			}
			continue
		}
		if m.Source <= last || m.Source >= t.Len() {
			bad(i, "order", "message %d after message %d", m.Source, last)
			continue
		}
		last = m.Source
		if left := showBlocks(m, t, shown); left == 0 && t.sizes[m.Source] > 0 {
			bad(i, "empty-message", "nothing is left of message %d", m.Source)
		}
		for _, e := range m.Edits {
			if !e.Drop && e.Text == "" {
				bad(i, "empty-text", "block %d of message %d is empty", e.Block, m.Source)
			}
		}
	}
	for _, r := range t.rounds {
		for _, c := range r.Calls {
			if c.Answered && shown[c.Call] != shown[c.Result] {
				bad(0, "pair-split", "call %s in message %d is shown: %v, its result in message %d: %v",
					c.ID, c.Call.Message, shown[c.Call], c.Result.Message, shown[c.Result])
			}
		}
	}
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Source < 0 && v.Messages[n-1].Made.Role() == RoleAssistant {
		bad(n-1, "assistant-last", "the view ends on an assistant message of pleat's own")
	}
	return out
}

// showBlocks marks the blocks that a message of the view shows and counts them.
func showBlocks(m ViewMessage, t *Transcript, shown map[BlockRef]bool) int {
	left, next := 0, 0
	for b := range int(t.sizes[m.Source]) {
		if next < len(m.Edits) && m.Edits[next].Block == b {
			next++
			if m.Edits[next-1].Drop {
				continue
			}
		}
		shown[BlockRef{m.Source, b}] = true
		left++
	}
	return left
}
