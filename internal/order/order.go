// Package order puts tool results where every provider takes them: behind the answer that called the
// tools, before anything else that was said.
package order

import (
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// Results returns the messages with every result behind the answer that has its call, and behind the
// results that follow that already. What stood in between comes after it. Results that answer no call stay
// where they are, and messages in order are returned as they are.
func Results(msgs []transcript.Message) []transcript.Message {
	if inOrder(msgs) {
		return msgs
	}
	goes := make(map[transcript.BlockRef]int) // results that move, and the message they go before
	for _, r := range transcript.NewTranscript(msgs...).Rounds() {
		from, to := behind(msgs, r.Calls[len(r.Calls)-1].Call.Message)
		for _, c := range r.Calls {
			if at := c.Result.Message; c.Answered && (at < from || at >= to) {
				goes[c.Result] = to
			}
		}
	}
	if len(goes) == 0 {
		return msgs
	}
	moved := make([][]part, len(msgs)+1) // by the message they go before
	stays := make([]part, len(msgs))
	for i, m := range msgs {
		stays[i].of = m
		for k, b := range m.Blocks().All() {
			to, ok := goes[transcript.BlockRef{Message: i, Block: k}]
			if !ok {
				stays[i].blocks = append(stays[i].blocks, b)
				continue
			}
			if last := len(moved[to]) - 1; last < 0 || moved[to][last].of != m {
				moved[to] = append(moved[to], part{of: m})
			}
			p := &moved[to][len(moved[to])-1]
			p.blocks = append(p.blocks, b)
		}
	}
	out := make([]transcript.Message, 0, len(msgs)+len(goes))
	for i := range moved {
		for _, p := range moved[i] {
			out = p.appendTo(out)
		}
		if i < len(stays) {
			out = stays[i].appendTo(out)
		}
	}
	return out
}

// Answering returns the messages with those results alone that answer a call. Another becomes text, or is left
// out if it only came twice.
func Answering(msgs []transcript.Message) (out []transcript.Message) {
	orphans := transcript.NewTranscript(msgs...).Orphans()
	if len(orphans) == 0 {
		return msgs
	}
	known := make(map[string]bool) // results by call and text
	for i, m := range msgs {
		var blocks []transcript.Block
		changed := false
		for k, b := range m.Blocks().All() {
			r, isResult := b.(transcript.ToolResult)
			orphan := isResult && slices.Contains(orphans, transcript.BlockRef{Message: i, Block: k})
			said := r.CallID + "\x00" + r.Text()
			switch changed = changed || orphan; {
			case !orphan:
				blocks = append(blocks, b)
			case !known[said]:
				blocks = append(append(blocks, transcript.Say("[a result that no call waits for]\n")), r.Parts.List()...)
			}
			known[said] = known[said] || isResult
		}
		if !changed {
			out = append(out, m)
		} else if len(blocks) > 0 {
			out = append(out, transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(m.Origin()))
		}
	}
	return out
}

// part is some of the blocks of a message.
type part struct {
	of     transcript.Message
	blocks []transcript.Block
}

// appendTo appends it as a message, the message itself if it is all of it.
func (p part) appendTo(out []transcript.Message) []transcript.Message {
	switch len(p.blocks) {
	case p.of.Blocks().Len():
		return append(out, p.of)
	case 0:
		return out
	}
	return append(out, transcript.NewMessage(p.of.Role(), p.blocks...).WithOrigin(p.of.Origin()))
}

// behind returns where the results that follow an answer begin and end. Message i is of the answer.
func behind(msgs []transcript.Message, i int) (from, to int) {
	for from = i + 1; from < len(msgs) && msgs[from].Role() == transcript.RoleAssistant; {
		from++
	}
	for to = from; to < len(msgs) && msgs[to].Blocks().Has(transcript.KindToolResult); {
		to++
	}
	return from, to
}

// inOrder reports whether all results follow their answers, which those of most conversations do.
func inOrder(msgs []transcript.Message) bool {
	calls := make(map[string]bool) // of the newest answer
	follows, answers := false, false
	for _, m := range msgs {
		results := m.Blocks().Has(transcript.KindToolResult)
		if m.Role() != transcript.RoleAssistant {
			follows, answers = follows && results, false
		} else if !answers {
			follows, answers = true, true
			clear(calls)
		}
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				calls[b.ID] = true
			case transcript.ToolResult:
				if answers || !follows || !calls[b.CallID] {
					return false
				}
			}
		}
	}
	return true
}
