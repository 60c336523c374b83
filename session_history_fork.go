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
	if err := s.refresh(ctx); err != nil { // if it was deleted, what has its name is another's
		return nil, err
	}
	upTo := s.last
	if m.Said < s.st.Len() {
		upTo = s.st.Contents.Entry(m.Said) - 1
	}
	left := legacy{pins: slices.Clone(s.st.Pins), epoch: m.Epoch}
	left.takes, left.known = s.meter.Bequeath()
	if m.Epoch != nil {
		var err error
		if left.told, err = s.toldBehind(ctx, upTo, m.Said); err != nil {
			return nil, err
		}
	}
	ways, copied := m.Ways(s.st, h), true
	for try := range mostForks {
		key := s.key
		key.Session = forkName(key.Session, ways, try)
		var made error
		if copied {
			made = Fork(ctx, s.store, s.key, upTo, key, s.o.Codecs)
		}
		if made != nil && !errors.Is(made, store.ErrConflict) { // else the fork is there already
			return nil, made
		}
		fork, err := OpenSession(ctx, s.store, key, &s.o)
		if err != nil {
			return nil, err
		}
		bare := copied && fork.last == upTo || made == nil && fork.st.Len() == 0 // nobody has used it yet
		if next, err := fork.has(ctx, h, m, left, bare); next != nil || err != nil {
			return next, err
		}
		// A copy need not go on either, as where messages are damaged: then nothing is shared.
		copied = copied && made != nil
	}
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.Said, mostForks)
}

// has returns the session with a history if that goes on from it, or parts from it later than from the
// session that it was made of.
func (s *Session) has(
	ctx context.Context, h *match.History, m match.Meeting, left legacy, bare bool,
) (next *Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bare {
		if err := s.inherit(ctx, left); err != nil {
			return nil, err
		}
	}
	then, err := match.Meet(s.st, h)
	if err != nil || then.Parts && then.History <= m.History {
		return nil, err
	}
	next, _, err = s.follow(ctx, h)
	return next, err
}

// become makes s the session that another one is, which nobody else has. What s does in the background
// ends as with [Session.Close]. The lock is held.
func (s *Session) become(o *Session) {
	was := s.dig
	was.cancel()
	s.unlocked(was.work.Wait)
	o.dig.guard = was.guard // a model that does not help the one does not help the other
	s.key, s.st, s.last, s.entry, s.dig = o.key, o.st, o.last, o.entry, o.dig
	s.meter, s.legal = o.meter, o.legal
	s.answered, s.heard, s.elsewhere = o.answered, o.heard, o.elsewhere
	s.lead, s.longer, s.edited, s.digests = o.lead, o.longer, o.edited, o.digests
	s.stillRed, s.failing = o.stillRed, o.failing
	o.pages.Named, s.pages = s.pages.Named, o.pages
	s.st.Policy = &s.o.Policy
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
