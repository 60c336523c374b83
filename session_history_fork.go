package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// meetViews compares a history with what the session shows, and with what it showed in earlier
// epochs: then a fork must have the epoch, or get it.
func (s *Session) meetViews(h *handed) (best meeting, err error) {
	epochs := append([]epoch.Data{{}}, s.st.History...) // before the first, only results that were too large are folded
	for i, d := range slices.Backward(epochs) {
		in, view := s.st.Layout.In, []transcript.ViewMessage(nil)
		if i == len(epochs)-1 {
			view = s.st.View()
		} else if in, err = s.st.ShownIn(d); err == nil {
			view = s.viewOf(in)
		}
		if err != nil {
			return meeting{}, err
		}
		own := s.turnsIn(view)
		if len(own) == 0 {
			continue
		}
		m, ok := s.goesOn(h, own, true)
		if ok {
			return m, nil
		}
		m = s.apart(h, own)
		if m.history > best.history && m.said < d.Messages {
			if m.epoch, err = s.epochBefore(h, m, d, in); err != nil {
				return meeting{}, err
			}
		}
		if m.history > best.history && (m.said >= d.Messages || m.epoch != nil) {
			best = m
		}
		if m, ok := s.gapInView(h, view); ok {
			return m, nil
		}
	}
	return best, nil
}

// epochBefore returns an epoch as a fork gets it that ends before it opened: with the folds of what
// the fork has. It is nil if these do not show what the history has of the epoch's view.
func (s *Session) epochBefore(h *handed, m meeting, d epoch.Data, in fold.Set) (*epoch.Data, error) {
	d.Folds, d.Messages, d.Bare = nil, m.said, min(in.Bare, m.said)
	d.InForce = slices.DeleteFunc(in.IDs(), func(id int) bool {
		f := s.st.Folds[id-1]
		return f.Start >= m.said || f.End > m.said
	})
	for _, id := range d.InForce {
		d.Folds = append(d.Folds, s.st.Folds[id-1])
	}
	kept, err := s.st.SetOf(d.InForce, d.Bare)
	if err != nil {
		return nil, err
	}
	view := s.viewOf(kept)
	if i := slices.IndexFunc(view, func(vm transcript.ViewMessage) bool { return vm.Source >= m.said }); i >= 0 {
		view = view[:i]
	}
	own, theirs := s.turnsIn(view), addTurns(nil, h.heads, m.history, h.role)
	if len(own) != len(theirs) || s.alike(h, own, theirs, true) < len(own) {
		return nil, nil
	}
	return &d, nil
}

// forkFor opens the fork of the session that has a history.
func (s *Session) forkFor(ctx context.Context, h *handed, m meeting) (*Session, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	o, err := s.o, s.refresh(ctx) // if it was deleted, what has its name is another's
	ways := s.ways(h, m)
	left := legacy{slices.Clone(s.st.Pins), s.cap, s.refusedAt, m.epoch, nil}
	if m.epoch != nil && err == nil {
		left.told, err = s.toldBehind(ctx, m)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	shared, copied := m.said, true
	for try := range mostForks {
		key := s.key
		key.Session = forkName(key.Session, ways, try)
		var made error
		if copied {
			made = Fork(ctx, s.store, s.key, m.upTo, key, o.Codecs)
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

		if bare := copied && fork.last == m.upTo; bare || made == nil && fork.st.Len() == 0 { // nobody has done it yet
			err = fork.inherit(ctx, left)
		}
		var then meeting
		if err == nil {
			then, err = fork.meet(h)
		}
		fork.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !then.parts() || then.history > m.history {
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
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.said, mostForks)
}

// mostForks is how many names of forks are tried for a history.
const mostForks = 1000

// ways stands for what the session and a history both have, and the first message that only the
// history has. The lock is held.
func (s *Session) ways(h *handed, m meeting) string {
	var said []conv.Said
	for i := s.st.Facts().Prompt(); i < m.said; i++ {
		said = append(said, s.st.SaidAt(i, i+1))
	}
	if m.history < len(h.msgs) {
		said = append(said, h.said(m.history))
	}
	return conv.Fingerprint(said...).String()
}

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
