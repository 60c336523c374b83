package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// forkForLocked opens the fork of the session that has a history.
func (s *Session) forkForLocked(ctx context.Context, h *match.History, m match.Meeting) (*Session, error) {
	if err := s.journal.Refresh(ctx); err != nil { // if it was deleted, what has its name is another's
		return nil, err
	}
	upTo := s.journal.Last()
	if m.Said < s.st.Len() {
		upTo = s.st.Entry(m.Said) - 1
	}
	left, err := s.journal.Legacy(ctx, upTo, m.Said, m.Epoch)
	if err != nil {
		return nil, err
	}
	ways, copied := m.Ways(s.st, h), true
	for try := range mostForks {
		key := s.say.key
		key.Session = forkName(key.Session, ways, try)
		var made error
		if copied {
			made = Fork(ctx, s.journal.Store(), s.say.key, upTo, key, s.o.Codecs)
		}
		if made != nil && !errors.Is(made, store.ErrConflict) { // else the fork is there already
			return nil, made
		}
		o := *s.o
		fork, err := open(ctx, s.journal.Store(), key, &o, o.Budget, s.mu)
		if err != nil {
			return nil, err
		}
		if copied && fork.journal.Last() == upTo || made == nil && fork.st.Len() == 0 { // nobody has used it yet
			if err := fork.journal.Inherit(ctx, left); err != nil {
				return nil, err
			}
		}
		then, err := match.Meet(fork.st, h)
		if err != nil {
			return nil, err
		}
		if !then.Parts || then.History > m.History { // it goes on from there, or parts later
			next, _, err := fork.followLocked(ctx, h)
			return next, err
		}
		// A copy need not go on either, as where messages are damaged: then nothing is shared.
		copied = copied && made != nil
	}
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.Said, mostForks)
}

// becomeLocked makes s the session that another one is, which nobody else has. What s does in the background
// ends as with [Session.Close].
func (s *Session) becomeLocked(next *Session) {
	s.digester.End()
	next.digester.Follow(s.digester) // a model that does not help the one does not help the other
	*s = *next
}

// Fork copies the entries 1 to upTo of a session into a new one: the same conversation
// up to there, with the same folds and the same handles, so that views are the same
// bytes. Both go their own ways from then on. If the new session exists already, the error
// is [ErrConflict]. A store that is a [store.Forker] copies within a tenant without
// reading bodies; with any other, Fork holds all of them in memory.
func Fork(
	ctx context.Context, st store.Store, from store.SessionKey, upTo uint64, to store.SessionKey,
	codecs map[transcript.Format]transcript.Codec,
) error {
	return journal.Fork(ctx, st, from, upTo, to, codecs)
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
