package pleat

import (
	"context"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// Violations returns what providers refuse about the conversation itself, oldest first: calls
// without a result, results without a call, messages without content, an answer before anybody spoke, two
// calls of one answer with the same id. (Anthropic refuses any two, and texts of white space; the Check of its
// wire finds those.) Results that come after other messages are none, since [Session.Messages] and
// the encoders of the wires move them to their calls. Appending violations is no error, since a client's
// conversation is what it is, and folding repairs them only where it folds them. [Session.Repair] answers
// the newest calls.
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
	if first := facts.Prompt(); first < len(facts) && facts[first].Role == transcript.RoleAssistant &&
		!facts.Has(first, transcript.KindOpaque) { // which a provider's own compaction is
		add(first, "first-role", "the first message is the assistant's, not the user's")
	}
	for _, r := range s.st.Rounds() {
		for i, c := range r.Calls {
			if !c.Answered {
				add(c.Call.Message, "tool-result-missing", fmt.Sprintf("call %q has no result", c.ID))
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

// Repair answers the calls of the newest answer that have no result, as after a crash or a cancelled run,
// and returns how many. Each gets an error result with what text returns for it, which is what the model
// is told about the call; nil or empty: that its result was lost. Older calls stay as they are: to answer those,
// hand what [transcript.Repair] makes of the messages to [Session.Sync], which goes on in a fork. A program
// that hands over its history anyway repairs that in the same way.
func (s *Session) Repair(ctx context.Context, text func(ToolCall) string) (int, error) {
	n, err := s.repair(ctx, text)
	if err != nil {
		return 0, fmt.Errorf("repair session %s: %w", s.Key(), err)
	}
	return n, nil
}

func (s *Session) repair(ctx context.Context, text func(ToolCall) string) (int, error) {
	var calls []Block
	var at uint64
	look := func() (err error) {
		calls, err = openCalls(ctx, s.st)
		at = s.journal.Last()
		return err
	}
	for moved := true; moved; {
		if err := s.locked(ctx, look); err != nil || len(calls) == 0 {
			return 0, err
		}
		results := transcript.Repair([]Message{Assistant(calls...)}, text)[1:] // text may ask the session
		err := s.locked(ctx, func() error {
			if moved = s.journal.Last() != at; moved {
				return nil
			}
			return s.appendLocked(ctx, nil, results)
		})
		if err != nil {
			return 0, err
		}
	}
	return len(calls), nil
}

// openCalls returns the calls of the newest answer that have no result.
func openCalls(ctx context.Context, st *epoch.State) (calls []Block, err error) {
	err = st.Reading(ctx, func(t *transcript.Transcript) error {
		rounds, facts := t.Rounds(), st.Facts()
		if len(rounds) == 0 {
			return nil
		}
		newest := rounds[len(rounds)-1]
		answers := func(m transcript.MessageFacts) bool { return m.Role == transcript.RoleAssistant }
		if slices.ContainsFunc(facts[newest.End:], answers) {
			return nil
		}
		for _, c := range newest.Calls {
			if call, ok := t.Block(c.Call).(ToolCall); ok && !c.Answered {
				calls = append(calls, call)
			}
		}
		return nil
	})
	return calls, err
}
