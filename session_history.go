package pleat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Sync takes in the history of a program that hands over the whole of it at each call, and so has no
// use for [Session.Append]. It appends what is new and returns the session to go on with, also beside
// an error. That is s itself, unless the history goes another way than s, because something was edited
// or taken back: then it is a fork of s that begins where they part, under a name that follows from
// the history, and what s does in the background ends as with [Session.Close]. It has the pins of s
// and knows what the provider takes, but not the notes made behind that place, which tell of another
// way. An [EventFork] says so; ask [Session.Answer] of the session that was returned. After a restart,
// open the Key of the session that Sync returned last: a history without its oldest messages does not
// lead from s to a fork of it. After a crash, give the history's calls without a result one by
// [transcript.Repair] before you hand it over. Where Sync failed half-way, as with [store.ErrFull], s
// can hold calls without their results, and [Session.Messages] shows them so: hand the history over
// again before you send anything. A message whose bytes in the store are damaged, of which an
// [EventWarning] tells when the session is opened, stays so, though the history has it.
//
// Both are compared turn by turn: a turn is an answer, or all that was said between two answers,
// whatever messages it is put in, with its results in any order. The history must have the
// session's turns up to the newest; what it has beyond is new. Its oldest messages may be missing,
// or those behind the first question, or behind its answer in words, as long as it has the two
// newest of the session, with their ids. Where it goes another way instead, it must have three turns
// before that place, which stand nowhere else in the session: the fork then has what is missing, too.
// (For a history that must not have it, open another session.)
// A history that begins as the session does can be a whole one as well, of which the rest was taken
// back. Without ids it is taken for that, unless it has two turns of the session behind that beginning, one
// of them an answer that the session has once; words that were typed after a repeated answer do not count.
// A history that has nothing of the session, such as the newest question or system messages alone, is
// another conversation, and so is one with a summary of the program's own in place of old messages:
// only what it has is shown then. An empty history is an error.
//
// Turns are compared by content, and inputs of calls as JSON where they are objects. A result
// over which Claude Code, Gemini CLI, opencode or Qwen Code, or a program like them, has written that it
// cleared it is still the original, under the id of its call, and views show the original or its stub.
// Thinking does not count, since many programs drop it, nor does an empty text beside other blocks,
// nor the content of images. Ids of calls may change, with those of their results, but not that of a
// call whose result is still to come. System messages at the beginning do not count at all: views begin
// with those of the newest history, however many it has. One among the turns is part of them: if it
// moves, the history goes another way each time. A history that goes back to an earlier way may get
// another fork than before.
//
// The history may begin with what the session shows now, or showed in an earlier epoch, for programs
// that store a view back: it is compared in the same way. A session does not know the views of its
// forks. Where something in such a view was edited, the fork has the folds before that place; stubs
// behind it are text like any other. A window may slide over such a view as over the session, if it has
// the rest of the view message by message; where one of these is edited, too, stubs and pages are text.
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
	history, said int         // how many messages of the history stand for how many of the session
	rest          []Message   // of the history, that the session does not have
	named         bool        // what both have has ids, which no other has
	upTo          uint64      // the entry before the session's first message that the history lacks; 0: it has all
	epoch         *epoch.Data // that the session had opened behind that place, and a fork gets; nil: none
}

// parts reports whether the session and the history go different ways.
func (m meeting) parts() bool { return m.upTo > 0 }

// goOn appends what is new, unless the history goes another way.
func (s *Session) goOn(ctx context.Context, h *handed) (meeting, error) {
	if err := s.wait(ctx); err != nil {
		return meeting{}, err
	}
	defer s.mu.Unlock()
	m, err := s.meet(h)
	if err != nil || m.parts() {
		return m, err
	}
	lead, err := s.newLead(h)
	if err != nil {
		return m, err
	}
	return m, s.append(ctx, m.rest, lead...)
}

// meet finds out how far the history and the session are the same. The lock is held.
func (s *Session) meet(h *handed) (meeting, error) {
	n, heads := s.st.Len(), s.st.Facts().Prompt()
	switch {
	case len(h.msgs) == 0:
		return meeting{}, errors.New("the history is empty: hand over all that was said")
	case n == 0:
		return meeting{rest: h.msgs}, nil
	case n == heads:
		return h.from(h.heads, n), nil
	}
	s.synced = append(s.synced, make([]uint64, max(n-len(s.synced), 0))...)
	done := heads
	if k := len(s.turns); k > 0 {
		done = s.turns[k-1].end
	}
	s.turns = addTurns(s.turns, done, n, func(i int) transcript.Role { return s.st.Facts()[i].Role })
	own := s.turns
	if m, ok := s.goesOn(h, own, false); ok {
		return m, nil
	}
	if m, ok := s.gap(h, own); ok {
		return m, nil
	}
	if m, ok := s.goesOn(h, own, true); ok {
		return m, nil
	}
	best := s.apart(h, own)
	if s.st.Folded() || len(s.st.History) > 0 { // folds that were undone, too
		m, err := s.meetViews(h)
		if err != nil {
			return m, err
		}
		if m.history > best.history {
			best = m
		}
	}
	if best.parts() {
		if m, ok := s.slid(h, own); ok && m.history > best.history {
			best = m
		}
	}
	return best, nil
}

// partAt is a meeting that ends before message i of the session and j of the history.
func (s *Session) partAt(h *handed, j, i int) meeting {
	return meeting{history: j, said: i, upTo: s.st.Contents.Entry(i) - 1}
}

// goesOn reports whether the history has all of the session's turns from the first on.
func (s *Session) goesOn(h *handed, own []turn, open bool) (meeting, bool) {
	theirs, last := h.turns(h.heads), len(own)-1
	if last >= len(theirs) || s.alike(h, own[:last], theirs, open) < last {
		return meeting{}, false
	}
	more, ok := s.has(h, own[last], theirs[last], conv.How{More: true, Open: open})
	return h.behind(theirs[last], more, s.st.Len()), ok
}

// alike returns how many of the session's turns the history has at its beginning.
func (s *Session) alike(h *handed, own, theirs []turn, open bool) int {
	for k := range min(len(own), len(theirs)) {
		if _, ok := s.has(h, own[k], theirs[k], conv.How{Open: open}); !ok {
			return k
		}
	}
	return min(len(own), len(theirs))
}

// begins returns where the history first says something else than the session.
func (s *Session) begins(h *handed, own []turn) (j int) {
	theirs := h.turns(h.heads)
	k := s.alike(h, own, theirs, true)
	switch k {
	case len(theirs):
		return len(h.msgs)
	case len(own):
		return theirs[k].start
	}
	_, j = s.within(h, own[k], theirs[k], conv.How{Open: true})
	return j
}

// has compares a turn of the session with one of the history, see [conv.Said.Has]. If they were
// the same last time, a quick look is enough to see it again.
func (s *Session) has(h *handed, own, theirs turn, how conv.How) (more []transcript.BlockRef, ok bool) {
	look := h.look(theirs)
	if own.shown == nil && s.synced[own.end-1] == look {
		return nil, true
	}
	if rounds := s.st.Rounds(); how.More && len(rounds) > 0 {
		for _, c := range rounds[len(rounds)-1].Calls {
			if !c.Answered {
				how.Waits = append(how.Waits, c.ID)
			}
		}
	}
	if how.Open {
		how.Renamed = s.renamed(h, own, theirs)
	}
	more, ok = s.saidIn(own).Has(h.saidIn(theirs), how)
	if ok && len(more) == 0 && !how.Cut && !how.Open && own.shown == nil {
		s.synced[own.end-1] = look
	}
	return more, ok
}

// renamed returns the session's ids of the calls before a turn for those of the history.
func (s *Session) renamed(h *handed, own, theirs turn) map[string]string {
	if own.start == 0 || theirs.start == 0 {
		return nil
	}
	return s.st.SaidAt(own.start-1, own.start).Renamed(h.said(theirs.start - 1))
}

// apart is where the session and the history go different ways.
func (s *Session) apart(h *handed, own []turn) meeting {
	theirs := h.turns(h.heads)
	k := s.alike(h, own, theirs, true)
	i, j := own[k].start, len(h.msgs)
	if k < len(theirs) {
		i, j = s.within(h, own[k], theirs[k], conv.How{Open: true, Renamed: s.renamed(h, own[k], theirs[k])})
	}
	// Calls that have other ids in the history would wait in a fork for results under the old ones.
	for _, r := range slices.Backward(s.st.Rounds()) {
		if r.End <= i {
			break
		}
		for x := k - 1; x >= 0 && own[x].start >= r.Start; x-- {
			if _, ok := s.has(h, own[x], theirs[x], conv.How{}); !ok {
				first := slices.IndexFunc(own, func(t turn) bool { return t.end > r.Start })
				return s.partAt(h, theirs[first].start, own[first].start)
			}
		}
	}
	return s.partAt(h, j, i)
}

// within returns up to where the messages of two turns are the same.
func (s *Session) within(h *handed, own, theirs turn, how conv.How) (i, j int) {
	shown := own.shown
	if shown == nil {
		shown = transcript.Whole(own.end).Messages[own.start:]
	}
	i, j = own.start, theirs.start
	for _, vm := range shown {
		i = max(i, vm.Source)
		if j == theirs.end {
			return i, j
		}
		if _, ok := s.st.SaidBy(vm).Has(h.said(j), how); !ok {
			return i, j
		}
		i, j = max(i, vm.Source+1), j+1
	}
	return own.end, j
}
