package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// meetViews compares a history with what the session shows, and with what it showed in earlier
// epochs: then a fork must have the epoch.
func (s *Session) meetViews(ctx context.Context, h *handed) (best meeting, err error) {
	if m, err := s.meetView(ctx, h, s.st.View()); err != nil || !m.parts() {
		return m, err
	} else if m.upTo >= s.st.EpochSeq {
		best = m
	}
	before := []epoch.Data{{}} // the first epoch: only results that were too large are folded
	for _, d := range slices.Backward(append(before, s.st.History...)) {
		in, err := s.st.ShownIn(d)
		if err != nil {
			return meeting{}, err
		}
		m, err := s.meetView(ctx, h, s.viewOf(in))
		if err != nil || !m.parts() {
			return m, err
		}
		if m.said >= d.Messages && m.history > best.history {
			best = m
		}
	}
	return best, nil
}

// meetView compares a history with a view.
func (s *Session) meetView(ctx context.Context, h *handed, view []transcript.ViewMessage) (meeting, error) {
	heads := s.st.Facts().Prompt()
	at, j := heads, h.heads // where the session and the history go on
	for _, vm := range view {
		if vm.Source >= 0 && vm.Source < heads {
			continue
		}
		at = max(at, vm.Source)
		shown := false
		if j < len(h.msgs) {
			var err error
			if shown, err = s.shows(ctx, vm, h, j); err != nil {
				return meeting{}, err
			}
		}
		if !shown {
			return s.partAt(h, j, at), nil
		}
		at, j = max(at, vm.Source+1), j+1
	}
	return h.from(j, s.st.Len()), nil
}

// shows reports whether message j of the history is a message of the view, as it is shown or
// as it came.
func (s *Session) shows(ctx context.Context, vm transcript.ViewMessage, h *handed, j int) (bool, error) {
	var waits bool // for results, so that its ids count
	if vm.Source >= 0 {
		if _, said := s.st.SaidAt(vm.Source, vm.Source+1).Has(h.said(j), conv.How{Open: true}); said ||
			len(vm.Edits) == 0 {
			return said, nil
		}
		rounds := s.st.Rounds()
		waits = len(rounds) > 0 && rounds[len(rounds)-1].Open() && vm.Source >= rounds[len(rounds)-1].Start
	}
	shown, err := s.resolve(ctx, transcript.View{Messages: []transcript.ViewMessage{vm}})
	if err != nil {
		return false, err
	}
	_, same := conv.SaidIn(shown[0], 0).Has(h.said(j), conv.How{Open: !waits})
	return same, nil
}

// forkFor opens the fork of the session that has a history.
func (s *Session) forkFor(ctx context.Context, h *handed, m meeting) (*Session, error) {
	s.mu.Lock()
	o, err := s.o, s.refresh(ctx) // if it was deleted, what has its name is another's
	left := legacy{slices.Clone(s.st.Pins), s.cap, s.refusedAt}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	shared, copied := m.said, true
	for try := range mostForks {
		key := s.key
		key.Session = h.forkName(key.Session, min(m.history+1, len(h.msgs)), try)
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
		if made == nil && (copied || fork.st.Len() == 0) {
			err = fork.inherit(ctx, left)
		}
		var then meeting
		if err == nil {
			then, err = fork.meet(ctx, h)
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

// legacy is what a fork has from the session that it was made of, wherever they part: it is no part
// of the conversation.
type legacy struct {
	pins           []string
	cap, refusedAt int
}

// inherit takes it over.
func (s *Session) inherit(ctx context.Context, from legacy) error {
	for _, p := range s.st.Pins {
		if !slices.Contains(from.pins, p) {
			if err := s.writePin(ctx, pinData{Text: p, Remove: true}); err != nil {
				return err
			}
		}
	}
	for _, p := range from.pins {
		if !slices.Contains(s.st.Pins, p) {
			if err := s.writePin(ctx, pinData{Text: p}); err != nil {
				return err
			}
		}
	}
	if from.cap == 0 || from.cap == s.cap {
		return nil
	}
	return s.writeUsage(ctx, usageData{Limit: from.cap, Refused: from.refusedAt})
}

// mostForks is how many names of forks are tried for a history.
const mostForks = 1000

// forkName is the name of the fork of a session, or of one of its forks, for the first n
// messages, up to the first that the session does not have. A fork that has gone on otherwise
// since leaves its name taken; then the next try has another.
func (h *handed) forkName(session string, n, try int) string {
	var history []conv.Said
	for i := h.heads; i < n; i++ {
		history = append(history, h.said(i))
	}
	hash := conv.Fingerprint(history...).String()
	if try > 0 {
		hash = transcript.HashOf(fmt.Sprint(hash, try)).String()
	}
	return baseName(session) + "~" + hash[:forkDigits]
}

const forkDigits = 12

// baseName is the name of the session that forks were made of.
func baseName(session string) string {
	base, digits, ok := cutLast(session, "~")
	if _, err := hex.DecodeString(digits); ok && err == nil && len(digits) == forkDigits {
		return base
	}
	return session
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
