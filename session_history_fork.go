package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// forkFor opens the fork of the session that has a history.
func (s *Session) forkFor(ctx context.Context, h *match.History, m match.Meeting) (*Session, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	o, err := s.o, s.refresh(ctx) // if it was deleted, what has its name is another's
	ways := m.Ways(s.st, h)
	left := legacy{pins: slices.Clone(s.st.Pins), epoch: m.Epoch}
	left.takes, left.known = s.meter.Bequeath()
	if m.Epoch != nil && err == nil {
		left.told, err = s.toldBehind(ctx, m)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	shared, copied := m.Said, true
	for try := range mostForks {
		key := s.key
		key.Session = forkName(key.Session, ways, try)
		var made error
		if copied {
			made = Fork(ctx, s.store, s.key, m.UpTo, key, o.Codecs)
		}
		if made != nil && !errors.Is(made, store.ErrConflict) { // else the fork is there already
			return nil, made
		}
		fork, err := OpenSession(ctx, s.store, key, &o)
		if err != nil {
			return nil, err
		}
		fork.mu.Lock()
		// A model that does not help the one does not help the other.
		fork.dig.guard = s.dig.guard

		if bare := copied && fork.last == m.UpTo; bare || made == nil && fork.st.Len() == 0 { // nobody has done it yet
			err = fork.inherit(ctx, left)
		}
		var then match.Meeting
		if err == nil {
			then, err = match.Meet(fork.st, h, &fork.met)
		}
		fork.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !then.Parts() || then.History > m.History {
			next, err := fork.sync(ctx, h)
			if err == nil && next == fork {
				fork.tell(ctx, Event{Kind: EventFork, From: s.key, Shared: shared})
			}
			return next, err
		}
		if err := fork.Close(); err != nil {
			return nil, err
		}
		if made == nil { // a copy does not go on either, as where calls have other ids: nothing is shared
			shared, copied = 0, false
		}
	}
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.Said, mostForks)
}

// mostForks is how many names of forks are tried for a history.
const mostForks = 1000

// forkName is the name of the fork of a session, or of one of its forks. A fork that has gone on
// otherwise since leaves its name taken; then the next try has another.
func forkName(session, hash string, try int) string {
	if try > 0 {
		hash = transcript.HashOf(fmt.Sprint(hash, try)).String()
	}
	return baseName(session) + "~" + hash[:forkDigits]
}

const forkDigits = 12

// baseName is the name of the session that forks were made of.
func baseName(session string) string {
	base, digits, ok := text.CutLast(session, "~")
	if _, err := hex.DecodeString(digits); ok && err == nil && len(digits) == forkDigits {
		return base
	}
	return session
}
