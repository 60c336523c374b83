package pleat

import (
	"context"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/transcript"
)

// Messages returns the messages to send now, none while the session has none: it is [Session.View] and
// [Session.Resolve] in one. Results directly follow their calls, even if other messages arrived in
// between. A result that no call waits for is text, and one that came twice is shown once. Programs that send a wire's bytes want the view itself. Some models bind thinking to what is before
// it ([model.ThinkingRule].Bound): there it is an error if the model thinks and Thinking.Drops of the session's model
// does not say that requests ask to drop what no longer verifies. The view itself says when they have to.
// The store, and so the context, is asked only if something has to be written or read.
func (s *Session) Messages(ctx context.Context) ([]Message, error) {
	msgs, err := within(ctx, s, "messages of", func() ([]Message, error) { // Sync may move it between the two
		v, err := s.viewLocked(ctx, Turn{})
		if err == nil {
			err = s.dropsLocked(v)
		}
		if err != nil {
			return nil, err
		}
		return s.resolveLocked(ctx, v)
	})
	return order.Results(order.Answering(msgs)), err
}

// dropsLocked returns an error if a view, or one that is to come, has thinking that the provider would refuse, and
// nobody said that it is asked to drop it.
func (s *Session) dropsLocked(v transcript.View) error {
	m, facts := &s.o.Model, s.st.Facts()
	i := len(facts) - 1
	for i >= 0 && facts[i].Role != transcript.RoleAssistant {
		i--
	}
	if t := m.Thinking; !t.Bound || t.Silent || t.Drops ||
		!v.DropThinking && (i < 0 || !facts.Has(i, transcript.KindThinking)) {
		return nil
	}
	return fmt.Errorf("%s accepts thinking only after what it was made after, which folds change: let requests ask to "+
		"drop it, as those of anthropic.Client do, and set Thinking.Drops of the session's model; or call View, whose "+
		"DropThinking says when to ask, and Resolve", m.ID)
}

// Message returns message i of the transcript, counted from 0, or [ErrNotFound]. In place of a
// message whose stored bytes are damaged it returns one that says so; a store that cannot be read
// is an error.
func (s *Session) Message(ctx context.Context, i int) (transcript.Message, error) {
	return within(ctx, s, "read", func() (transcript.Message, error) {
		if i < 0 || i >= s.st.Len() {
			return transcript.Message{}, fmt.Errorf("message %d of %d: %w", i, s.st.Len(), ErrNotFound)
		}
		return s.st.Message(ctx, i)
	})
}

// Resolve returns the messages of a view of this session. Damaged ones are replaced as in
// [Session.Message]. A store that cannot be read is an error, and so is a view of another
// session that does not fit.
func (s *Session) Resolve(ctx context.Context, v transcript.View) ([]transcript.Message, error) {
	return within(ctx, s, "resolve view of", func() ([]transcript.Message, error) { return s.resolveLocked(ctx, v) })
}

func (s *Session) resolveLocked(ctx context.Context, v transcript.View) (msgs []transcript.Message, err error) {
	known := make(map[int]transcript.ViewMessage)
	fresh := make(map[int]int) // edited messages that are not known, and where they are in the view
	given, seen := v.Messages, s.shownLocked()
	for i, m := range given {
		if m.Source >= s.st.Len() {
			return nil, fmt.Errorf("message %d: %w", i, transcript.ErrBadView)
		}
		if len(m.Edits) == 0 || m.Source < 0 {
			continue
		}
		e, ok := seen.edited[m.Source]
		if !ok || !slices.Equal(e.Edits, m.Edits) {
			fresh[m.Source] = i
			continue
		}
		if len(known) == 0 {
			v.Messages = slices.Clone(given)
		}
		known[m.Source], v.Messages[i] = e, transcript.ViewMessage{Source: -1, Made: e.Made}
	}
	err = s.st.Reading(ctx, func(t *transcript.Transcript) (err error) {
		msgs, err = v.Resolve(t.ReadThrough(func(i int) transcript.Message {
			m := t.At(i)
			if m.Raw() != "" { // what is left of it is a part of the raw bytes, and would keep them
				delete(fresh, i)
			}
			return m
		}))
		return err
	})
	if err != nil {
		return nil, err
	}
	for source, i := range fresh {
		known[source] = transcript.ViewMessage{Edits: given[i].Edits, Made: msgs[i]}
	}
	seen.edited = known
	return msgs, nil
}

// Folds returns every fold that was ever made in the session, oldest first, whether it
// is in force or not. They belong to the session and must not be changed. [Session.Unfold] gives back what
// each of them replaced.
func (s *Session) Folds() []*fold.Fold {
	return held(s, func() []*fold.Fold { return slices.Clone(s.st.Folds) })
}
