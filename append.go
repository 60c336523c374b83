package pleat

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Append adds messages. When it returns they are durable. Results that are too
// large are spilled on the way, as the policy says. If another process wrote to the session
// meanwhile, the session takes in what it wrote and returns [ErrConflict]; if it deleted the
// session, [ErrNotFound]: then open it again. Messages are written several
// at a time, in order, and one whose results may be spilled begins a separate write: an
// error is an [*AppendError], which says how many were added before it. A context that ends between
// the writes of calls and of their results does not separate them. [Session.Repair] gives results to calls that
// a crash left without. What a person types while calls wait for their results may be appended
// before them: [Session.Messages] shows it after them.
func (s *Session) Append(ctx context.Context, msgs ...transcript.Message) error {
	if err := s.wait(ctx); err != nil {
		return &AppendError{s.Key(), 0, len(msgs), err}
	}
	defer s.mu.Unlock()
	return s.appendLocked(ctx, nil, msgs)
}

// appendLocked adds messages, after the first entries and before the last.
func (s *Session) appendLocked(
	ctx context.Context, first []store.Entry, msgs []transcript.Message, last ...store.Entry,
) error {
	birth := journal.Birth{
		May: func(ctx context.Context, m transcript.Message, size func(block int) int) bool {
			may, err := s.o.Policy.MayFoldAtBirth(m, size, s.meter.BirthLimits())
			if err != nil {
				s.failedLocked(ctx, err)
			}
			return may || err != nil // by another lever
		},
		Fold:   s.spillLocked,
		Folded: func(ctx context.Context, f *fold.Fold) { s.say.tell(ctx, Event{Kind: EventSpill, Fold: f}) },
	}
	if added, err := s.journal.Append(ctx, birth, first, msgs, last...); err != nil {
		return &AppendError{s.Key(), added, len(msgs), err}
	}
	return nil
}

// spillLocked returns the folds of a message's large results, if there are any.
func (s *Session) spillLocked(ctx context.Context, m transcript.Message) (spilled []*fold.Fold, err error) {
	lay := &s.st.Layout
	o := fold.BirthOptions{
		Limits: s.meter.BirthLimits(), Folds: len(s.st.Folds), In: lay.In, Shown: s.st.Marked, Recall: lay.Recall,
	}
	if s.o.KeepFile != nil {
		o.Keep = func(name, text string) string { return s.say.keepFile(ctx, name, text) }
	}
	err = s.leavingOutLocked(ctx, &o.Barred, func() (err error) {
		spilled, err = fold.AtBirth(ctx, s.st, m, &s.o.Policy, o)
		return err
	})
	return spilled, err
}

// keepFile keeps a plain copy. What is copied is in the store, so work goes on without the copy.
func (v voice) keepFile(ctx context.Context, name, text string) string {
	kept, err := v.o.KeepFile(name, []byte(text))
	if err != nil {
		v.warn(ctx, Event{Warning: fmt.Sprintf("%s could not be written, the store has it: %v", name, err)})
		return ""
	}
	return kept
}
