package pleat

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
)

// Rewind goes back to the first so many messages, for programs that append: s becomes a fork that has these, with
// the folds of that time, and the session stays as it is under its own Key. The fork gets the name to, or one of its
// own if that is zero; if there is such a session, the error is [ErrConflict]. A second Session of the same Key that
// is rewound is a fork beside the first. [Session.Repair] answers calls whose results are left behind.
func (s *Session) Rewind(ctx context.Context, messages int, to Key) error {
	from := s.Key()
	err := s.locked(ctx, func() error { return s.rewindLocked(ctx, messages, to) })
	if err != nil {
		return fmt.Errorf("rewind session %s to message %d: %w", from, messages, err)
	}
	return nil
}

func (s *Session) rewindLocked(ctx context.Context, messages int, to Key) error {
	if err := s.journal.Refresh(ctx); err != nil {
		return err
	}
	if messages < 0 || messages > s.st.Len() {
		return fmt.Errorf("it has %d: %w", s.st.Len(), ErrNotFound)
	}
	from, upTo := s.Key(), s.journal.Last()
	if messages < s.st.Len() {
		upTo = s.st.Entry(messages) - 1
	}
	left, err := s.journal.Bequest(ctx, upTo, messages, nil)
	if err != nil {
		return err
	}
	key, own := to, to.Session == ""
	for try := 0; ; try++ {
		if own {
			key = from
			key.Session = forkName(from.Session, transcript.HashOf(fmt.Sprint(from.Session, upTo)).String(), try)
		}
		err := Fork(ctx, s.journal.Store(), from, upTo, key, s.o.Codecs)
		if err == nil {
			break
		}
		if !own || !errors.Is(err, ErrConflict) || try == mostForks {
			return err
		}
	}
	o := *s.o
	next, err := open(ctx, s.journal.Store(), key, &o, o.Budget, s.mu)
	if err != nil {
		return err
	}
	if err := next.journal.Inherit(ctx, left); err != nil {
		return err
	}
	s.becomeLocked(next)
	s.say.tell(ctx, Event{Kind: EventFork, From: from, Shared: messages, Reason: "it was rewound"})
	return nil
}
