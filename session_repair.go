package pleat

import (
	"context"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// Violations returns what providers refuse about the conversation itself, oldest first: calls
// without a result, results without a call, results that come after something else was said (which only
// the Responses wire takes, though encoders of the others put them before what a user said), messages
// without content, two calls of one answer with the same id. (Anthropic refuses any two; the Check of its
// wire finds those.) Appending them is no error, since a client's conversation is what it is, and folding repairs
// them only where it folds them. [Session.Repair] answers calls at the end.
func (s *Session) Violations() []transcript.Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := make([][]transcript.Violation, s.st.Len()) // by message
	add := func(message int, rule, what string) {
		v := transcript.Violation{Rule: rule, Path: fmt.Sprintf("messages.%d", message), Message: what}
		bad[message] = append(bad[message], v)
	}
	facts := s.st.Facts()
	for i, f := range facts {
		said := func(b transcript.BlockFacts) bool { return b.Kind != transcript.KindText || b.Bytes > 0 }
		if !slices.ContainsFunc(f.Blocks, said) {
			add(i, "empty-message", "the message has no content")
		}
	}
	for _, r := range s.st.Rounds() {
		end := endOfResults(facts, r)
		for i, c := range r.Calls {
			if !c.Answered {
				add(c.Call.Message, "tool-result-missing", fmt.Sprintf("call %q has no result", c.ID))
			} else if c.Result.Message >= end {
				add(c.Result.Message, "tool-result-late",
					fmt.Sprintf("the result of call %q does not follow its answer: message %d comes between", c.ID, end))
			}
			if slices.ContainsFunc(r.Calls[:i], func(o transcript.CallState) bool { return o.ID == c.ID }) {
				add(c.Call.Message, "tool-use-id-duplicate", fmt.Sprintf("two calls have the id %q", c.ID))
			}
		}
	}
	for _, ref := range s.st.Orphans() {
		add(ref.Message, "tool-result-orphan", "the result answers no call, or one that has its result already")
	}
	return slices.Concat(bad...)
}

// endOfResults returns the place behind a round's answer and the messages with results that follow it.
func endOfResults(facts transcript.Facts, r transcript.Round) int {
	end := r.Calls[len(r.Calls)-1].Call.Message + 1
	for end < len(facts) && facts[end].Role == transcript.RoleAssistant {
		end++
	}
	for end < len(facts) && facts.Has(end, transcript.KindToolResult) {
		end++
	}
	return end
}

// Repair answers the calls at the end of the conversation that have no result, as after a
// crash or a cancelled run, and returns how many. Call it before anything else is appended: calls
// that are not at the end stay as they are, and only a fork can be without them: [Session.Sync]
// what [transcript.Repair] makes of the messages. Each gets an error result with what text returns for
// it, which is what the model is told about the call; nil: that its result was lost. A program that
// hands its history to [Session.Sync] repairs that, with [transcript.Repair].
func (s *Session) Repair(ctx context.Context, text func(ToolCall) string) (int, error) {
	for {
		calls, n, err := s.openCalls(ctx)
		if err == nil && len(calls) > 0 {
			results := transcript.Repair([]Message{Assistant(calls...)}, text)[1:] // text may ask the session
			var moved bool
			if moved, err = s.appendAt(ctx, n, results); moved {
				continue
			}
		}
		if err != nil {
			return 0, fmt.Errorf("repair session %s: %w", s.key, err)
		}
		return len(calls), nil
	}
}

// openCalls returns the calls at the end of the conversation that have no result, and its length.
func (s *Session) openCalls(ctx context.Context) (calls []Block, n int, err error) {
	if err := s.wait(ctx); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	err = s.st.Reading(ctx, func(t *transcript.Transcript) error {
		rounds := t.AllRounds()
		if len(rounds) == 0 || rounds[len(rounds)-1].End < t.Len() {
			return nil
		}
		for _, c := range rounds[len(rounds)-1].Calls {
			if call, ok := t.Block(c.Call).(ToolCall); ok && !c.Answered {
				calls = append(calls, call)
			}
		}
		return nil
	})
	return calls, s.st.Len(), err
}

// appendAt appends messages to a conversation of that length; moved says that it has another one now.
func (s *Session) appendAt(ctx context.Context, n int, msgs []Message) (moved bool, err error) {
	if err := s.wait(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if s.st.Len() != n {
		return true, nil
	}
	return false, s.append(ctx, msgs)
}
