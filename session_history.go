package pleat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Sync takes in the history of a program that hands over the whole of it at each call, and so
// has no use for [Session.Append]. It appends what is new and returns the session to go on
// with, also beside an error. That is s itself, unless the history goes another way than s,
// because something was edited or taken back: then it is a fork of s that begins where they
// part, under a name that follows from the history, and what s does in the background ends as
// with [Session.Close]. An [EventFork] says so; [Session.Answer] is to be asked of the session
// that was returned.
//
// Messages are compared by role and content. Thinking does not count, since many programs
// drop it; nor does the content of images. Ids of calls may change, but not that of a call
// whose result is still to come. System messages at the beginning do not count at all: views
// begin with those of the newest history, however many it has.
//
// The history may begin with what the session shows now, or showed in an earlier epoch, for
// programs that store a view back. They store the session's Key beside it, and open that one:
// another does not know the views of its forks. Results of one answer are compared in their
// order. The history's oldest messages may be missing, or those behind the first question, as
// long as it has the two newest of the session, with their ids. Where those repeat others word
// for word, and have no ids to tell them apart, as many as possible are taken for known: such
// a program should hand over all of its history. A history that has nothing of the session,
// such as the newest question alone, is another conversation; an empty one is an error.
func (s *Session) Sync(ctx context.Context, history []Message) (*Session, error) {
	h, err := readHistory(history)
	if err != nil {
		return s, fmt.Errorf("sync session %s: %w", s.key, err)
	}
	next, err := s.sync(ctx, h)
	if err != nil {
		return s, fmt.Errorf("sync session %s: %w", s.key, err)
	}
	if next != s {
		err = s.Close()
	}
	return next, err
}

type handed struct {
	msgs  []Message
	known []*conv.Said // what each of them says, where it was asked for
	heads int          // system messages at its beginning
}

func readHistory(msgs []Message) (*handed, error) {
	for i, m := range msgs {
		err := checkBlocks(m.Blocks())
		if err == nil && m.Role() == "" {
			err = errors.New("it has no role")
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	h := &handed{msgs: msgs, known: make([]*conv.Said, len(msgs))}
	for h.heads < len(msgs) && isSystem(msgs[h.heads].Role()) {
		h.heads++
	}
	return h, nil
}

func isSystem(r transcript.Role) bool {
	return r == transcript.RoleSystem || r == transcript.RoleDeveloper
}

func (h *handed) said(i int) conv.Said {
	if h.known[i] == nil {
		said := conv.SaidIn(h.msgs[i])
		h.known[i] = &said
	}
	return *h.known[i]
}

// sync does the work of Sync. Whatever another process writes meanwhile is compared as well.
func (s *Session) sync(ctx context.Context, h *handed) (*Session, error) {
	for {
		m, err := s.goOn(ctx, h)
		switch {
		case errors.Is(err, store.ErrConflict) && ctx.Err() == nil:
			continue
		case err != nil || !m.parts():
			return s, err
		}
		return s.forkFor(ctx, h, m)
	}
}

// meeting is how far a history and a session are the same.
type meeting struct {
	history, said int    // how many messages of the history stand for how many of the session
	upTo          uint64 // the entry before the session's first message that the history lacks; 0: it has all
}

// parts reports whether the session and the history go different ways.
func (m meeting) parts() bool { return m.upTo > 0 }

// goOn appends what is new, unless the history goes another way.
func (s *Session) goOn(ctx context.Context, h *handed) (meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.meet(ctx, h)
	if err != nil || m.parts() {
		return m, err
	}
	lead, err := s.newLead(h)
	if err != nil {
		return m, err
	}
	return m, s.append(ctx, h.msgs[m.history:], lead...)
}

// meet finds out how far the history and the session are the same. The lock is held.
func (s *Session) meet(ctx context.Context, h *handed) (meeting, error) {
	n, heads := s.st.Len(), s.st.Facts().Prompt()
	switch {
	case n == 0:
		return meeting{}, nil
	case len(h.msgs) == 0 || h.heads == len(h.msgs) && n > heads:
		return meeting{}, errors.New("the history is empty, system messages aside: hand over all that was said")
	}
	s.synced = append(s.synced, make([]uint64, max(n-len(s.synced), 0))...)
	same := s.sameUpTo(h, false)
	if same < n {
		if known := s.slid(h, same); known > 0 {
			return meeting{known, n, 0}, nil
		}
		same = s.wholeCalls(h, s.sameUpTo(h, true))
	}
	if same == n {
		return meeting{h.heads + n - heads, n, 0}, nil
	}
	apart := meeting{h.heads + same - heads, same, s.st.Contents.Entry(same) - 1}
	if !s.st.Folded() {
		return apart, nil
	}
	m, err := s.meetViews(ctx, h)
	if err != nil || m.history > apart.history {
		return m, err
	}
	return apart, nil
}

// wholeCalls moves a place where the session and the history part back to the beginning of its
// round, if calls of the round have other ids in the history: in a fork they would wait for
// results under the old ones.
func (s *Session) wholeCalls(h *handed, same int) int {
	shift := h.heads - s.st.Facts().Prompt()
	for _, r := range slices.Backward(s.st.Rounds()) {
		if r.End <= same {
			break
		}
		for i := r.Start; i < same; i++ {
			if !s.st.SameIDs(i, h.msgs[i+shift]) {
				return r.Start
			}
		}
	}
	return same
}

// sameUpTo returns the first message that is not the same in the session and in the history,
// both without their system messages at the beginning. If open, the ids of calls count only
// while they wait for a result. If two were the same last time, a quick look is enough to see
// it again.
func (s *Session) sameUpTo(h *handed, open bool) int {
	i := s.st.Facts().Prompt()
	for j := h.heads; i < s.st.Len() && j < len(h.msgs); i, j = i+1, j+1 {
		look := h.glance(j)
		if s.synced[i] == look {
			continue
		}
		if !s.st.Says(i, h.said(j)) {
			break
		}
		if s.st.SameIDs(i, h.msgs[j]) {
			s.synced[i] = look
		} else if !open || !s.st.SameOpenIDs(i, h.msgs[j]) {
			break
		}
	}
	return i
}

// glance is a hash of all that tells message i from others, with its ids. It is good for this
// process.
func (h *handed) glance(i int) uint64 {
	var sum maphash.Hash
	sum.SetSeed(glanceSeed)
	m := h.msgs[i]
	maphash.WriteComparable(&sum, m.Role())
	for _, b := range m.Blocks().All() {
		maphash.WriteComparable(&sum, b.Kind())
		switch b := b.(type) {
		case transcript.ToolCall:
			maphash.WriteComparable(&sum, b.ID)
			maphash.WriteComparable(&sum, b.Name)
			maphash.WriteComparable(&sum, b.Input)
		case transcript.ToolResult:
			maphash.WriteComparable(&sum, b.CallID)
			for _, p := range b.Parts.All() {
				maphash.WriteComparable(&sum, p.Kind())
				if t, ok := p.(transcript.Text); ok {
					maphash.WriteComparable(&sum, t.Text)
				}
			}
		case transcript.Text:
			maphash.WriteComparable(&sum, b.Text)
		}
	}
	return sum.Sum64()
}

var glanceSeed = maphash.MakeSeed()

// slid returns how many messages of a history stand for those of the session up to the newest,
// if its oldest messages are missing, or those behind the first; 0: they are not all that is
// missing. The first ones are the same up to that message of the session.
func (s *Session) slid(h *handed, same int) int {
	n, heads := s.st.Len(), s.st.Facts().Prompt()
	if same > max(s.st.Facts().Opening(), heads) {
		return 0
	}
	start := h.heads + same - heads
	for from := max(n-len(h.msgs)+start, same); from <= n-2; from++ {
		i, j := from, start
		for i < n && s.st.Says(i, h.said(j)) && s.st.SameIDs(i, h.msgs[j]) {
			i, j = i+1, j+1
		}
		if i == n {
			return j
		}
	}
	return 0
}

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
			return meeting{j, at, s.st.Contents.Entry(at) - 1}, nil
		}
		at, j = max(at, vm.Source+1), j+1
	}
	return meeting{j, s.st.Len(), 0}, nil
}

// shows reports whether message j of the history is a message of the view, as it is shown or
// as it came.
func (s *Session) shows(ctx context.Context, vm transcript.ViewMessage, h *handed, j int) (bool, error) {
	if vm.Source >= 0 {
		if !s.st.SameOpenIDs(vm.Source, h.msgs[j]) {
			return false, nil
		}
		if said := s.st.Says(vm.Source, h.said(j)); said || len(vm.Edits) == 0 {
			return said, nil
		}
	}
	shown, err := s.resolve(ctx, transcript.View{Messages: []transcript.ViewMessage{vm}})
	return err == nil && h.said(j).Equal(conv.SaidIn(shown[0])), err
}

// forkFor opens the fork of the session that has a history.
func (s *Session) forkFor(ctx context.Context, h *handed, m meeting) (*Session, error) {
	s.mu.Lock()
	o := s.o
	s.mu.Unlock()
	for try := range mostForks {
		key := s.key
		key.Session = h.forkName(key.Session, min(m.history+1, len(h.msgs)), try)
		err := Fork(ctx, s.store, s.key, m.upTo, key, o.Codecs)
		if err != nil && !errors.Is(err, store.ErrConflict) { // else the fork is there already
			return nil, err
		}
		fork, err := OpenSession(ctx, s.store, key, &o)
		if err != nil {
			return nil, err
		}
		fork.mu.Lock()
		then, err := fork.meet(ctx, h)
		fork.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !then.parts() || then.history > m.history {
			next, err := fork.sync(ctx, h)
			if err == nil && next == fork {
				fork.tell(ctx, Event{Kind: EventFork, From: s.key, Shared: m.said})
			}
			return next, err
		}
	}
	return nil, fmt.Errorf("fork the session after message %d: %d forks from there went other ways", m.said, mostForks)
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
