package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
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
	Back   int    // how many messages were taken back
}

// Sync brings the session in line with a program's whole history. New messages are appended; what was said
// after the last answer in any role, and the history no longer has, is taken back; if the history diverges elsewhere, s becomes
// a fork of itself with a Key of its own, or a new session if they share nothing. Older messages than the two newest
// turns, apart from the first question or exchange, may be missing if ids of calls are the same, and a view of s may
// stand for what it shows. System messages, thinking, images and how turns are cut into messages are not compared.
func (s *Session) Sync(ctx context.Context, history []Message) (Synced, error) {
	did, err := s.sync(ctx, history)
	if err != nil {
		return did, fmt.Errorf("sync session %s: %w", did.From, err)
	}
	return did, nil
}

func (s *Session) sync(ctx context.Context, history []Message) (did Synced, err error) {
	if err := s.wait(ctx); err != nil {
		return Synced{From: s.Key()}, err
	}
	defer s.mu.Unlock()
	did = Synced{From: s.Key()}
	h, err := readHistory(history)
	if err != nil {
		return did, err
	}
	next, m, err := s.followLocked(ctx, h)
	if err != nil {
		return did, err
	}
	did.Reason, did.Shared, did.Back = m.Reason(h), m.Own, m.Back.Len()
	if next == s {
		did.Appended, s.warned.forked = true, false
		return did, nil
	}
	did.New = m.Own <= s.st.Facts().Prompt() && !m.Edited
	did.Forked = !did.New
	told := s.warned.forked
	s.becomeLocked(next)
	if s.warned.forked = true; !told { // forks in a row are told once
		s.say.tell(ctx, Event{Kind: EventFork, From: did.From, Shared: did.Shared, Reason: did.Reason})
	}
	return did, nil
}

// becomeLocked makes s another session, of the same lock.
func (s *Session) becomeLocked(next *Session) {
	s.digester.End()
	next.digester.ShareGuard(s.digester) // a model that does not help the one does not help the other
	s.o, s.say, s.journal, s.st, s.meter = next.o, next.say, next.journal, next.st, next.meter
	s.digester, s.pages, s.warned, s.shown = next.digester, next.pages, next.warned, next.shown
	s.key.Store(next.key.Load())
}

// followLocked appends what is new, and returns s, or the fork of it that has the history, and how it met s.
// Whatever another process writes meanwhile is compared as well.
func (s *Session) followLocked(ctx context.Context, h *match.History) (*Session, match.Meeting, error) {
	for {
		m, err := match.Meet(s.st, h)
		if err != nil {
			return s, m, err
		}
		if m.Diverges {
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
	first, err := s.backLocked(conv.Back{From: m.Back.Start, Count: m.Back.Len(), Again: m.Again})
	if err != nil {
		return err
	}
	var last []store.Entry
	if lead := s.st.LeadFrom(h.Lead(), h.Said); lead != nil {
		e, err := journal.Lead(*lead)
		if err != nil {
			return err
		}
		last = append(last, e)
	}
	return s.appendLocked(ctx, first, m.Rest, last...)
}

// backLocked is the entry that takes something back, none if there is nothing.
func (s *Session) backLocked(b conv.Back) ([]store.Entry, error) {
	if b.IsZero() {
		return nil, nil
	}
	e, err := s.journal.Back(b.From, b.Count, b.Again)
	return []store.Entry{e}, err
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

// forkForLocked opens the fork of the session that has a history.
func (s *Session) forkForLocked(ctx context.Context, h *match.History, m match.Meeting) (*Session, error) {
	if err := s.journal.Refresh(ctx); err != nil { // if it was deleted, what has its name is another's
		return nil, err
	}
	upTo := s.journal.Last()
	if m.Own < s.st.Len() {
		upTo = s.st.Entry(m.Own) - 1
	}
	left, err := s.journal.Bequest(ctx, upTo, m.Own, m.Epoch)
	if err != nil {
		return nil, err
	}
	ways, copied := m.Ways(s.st, h), true
	for try := range mostForks {
		key := s.Key()
		key.Session = forkName(key.Session, ways, try)
		var made error
		if copied {
			made = Fork(ctx, s.journal.Store(), s.Key(), upTo, key, s.o.Codecs)
		}
		if made != nil && !errors.Is(made, store.ErrConflict) { // else the fork is there already
			return nil, made
		}
		o := *s.o
		fork, err := open(ctx, s.journal.Store(), key, &o, o.Budget, s.mu) // the same lock, so that s can become it
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
		if !then.Diverges || then.Theirs > m.Theirs { // it goes on from there, or parts later
			next, _, err := fork.followLocked(ctx, h)
			return next, err
		}
		// If even a fresh copy does not match, as with damaged messages, an empty session is tried next.
		copied = copied && made != nil
	}
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.Own, mostForks)
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
