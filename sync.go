package pleat

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/store"
)

// Synced is what Sync did.
type Synced struct {
	// One of these is true, unless Sync failed.
	Appended bool // what the history has beyond the session was added to it
	Forked   bool // the history goes another way: the session is now a fork of what it was
	New      bool // the history has nothing of the session, which is now a new one

	Reason string // why it is not Appended
	From   Key    // the session that it was before, which it still is if it is Appended
	Shared int    // how many messages of that one it has
	Back   int    // how many messages of the user were taken back
}

// Sync takes in the whole history of a program, and moves s to where it is. What it has beyond s is appended;
// what the user said after the last answer, and it lacks, is taken back; one that goes another way goes on in a
// fork, whose Key s then has, and one that has nothing of s in a new session. Messages behind the first question, or
// exchange, may be missing as long as the newest two turns are there, with their ids; a view of s may stand in place
// of what it shows. System messages, thinking, images, other ids, and where messages begin make no difference.
func (s *Session) Sync(ctx context.Context, history []Message) (Synced, error) {
	did, err := s.sync(ctx, history)
	if err != nil {
		return did, fmt.Errorf("sync session %s: %w", did.From, err)
	}
	return did, nil
}

func (s *Session) sync(ctx context.Context, history []Message) (did Synced, err error) {
	if err := s.wait(ctx); err != nil {
		return Synced{From: s.say.key}, err
	}
	defer s.mu.Unlock()
	did = Synced{From: s.say.key}
	h, err := readHistory(history)
	if err != nil {
		return did, err
	}
	next, m, err := s.followLocked(ctx, h)
	if err != nil {
		return did, err
	}
	did.Reason, did.Shared, did.Back = m.Reason(h), m.Said, m.Back.Len()
	if next == s {
		did.Appended, s.warned.forked = true, false
		return did, nil
	}
	did.New = m.Said <= s.st.Facts().Prompt()
	did.Forked = !did.New
	told := s.warned.forked
	s.becomeLocked(next)
	if s.warned.forked = true; !told { // forks in a row are told once
		s.say.tell(ctx, Event{Kind: EventFork, From: did.From, Shared: did.Shared, Reason: did.Reason})
	}
	return did, nil
}

// followLocked appends what is new, and returns s, or the fork of it that has the history, and how it met s.
// Whatever another process writes meanwhile is compared as well.
func (s *Session) followLocked(ctx context.Context, h *match.History) (*Session, match.Meeting, error) {
	for {
		m, err := match.Meet(s.st, h)
		if err != nil {
			return s, m, err
		}
		if m.Parts {
			next, err := s.forkForLocked(ctx, h, m)
			if next == nil {
				next = s
			}
			return next, m, err
		}
		if err = s.goOnLocked(ctx, h, m); !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return s, m, err
		}
	}
}

// goOnLocked appends what is new, after an entry that takes back what the history lacks.
func (s *Session) goOnLocked(ctx context.Context, h *match.History, m match.Meeting) error {
	var first, last []store.Entry
	if m.Back.Len() > 0 {
		e, err := journal.Back(m.Back.Start, m.Back.Len())
		if err != nil {
			return err
		}
		first = append(first, e)
	}
	if lead := s.st.LeadFrom(h.Lead(), h.Said); lead != nil {
		e, err := journal.Lead(*lead)
		if err != nil {
			return err
		}
		last = append(last, e)
	}
	return s.appendLocked(ctx, first, m.Rest, last...)
}

func readHistory(msgs []Message) (*match.History, error) {
	if len(msgs) == 0 {
		return nil, errors.New("the history is empty: hand over all that was said")
	}
	for i, m := range msgs {
		if err := journal.Check(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return match.Read(msgs), nil
}
