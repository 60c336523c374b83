package pleat

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/store"
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
func (s *Session) sync(ctx context.Context, h *match.History) (*Session, error) {
	for {
		m, err := s.goOn(ctx, h)
		switch {
		case errors.Is(err, store.ErrConflict) && ctx.Err() == nil:
			continue
		case err != nil || !m.Parts():
			return s, err
		}
		return s.forkFor(ctx, h, m)
	}
}

// goOn appends what is new, unless the history goes another way.
func (s *Session) goOn(ctx context.Context, h *match.History) (match.Meeting, error) {
	if err := s.wait(ctx); err != nil {
		return match.Meeting{}, err
	}
	defer s.mu.Unlock()
	m, err := match.Meet(s.st, h, &s.met)
	if err != nil || m.Parts() {
		return m, err
	}
	lead, err := s.newLead(h)
	if err != nil {
		return m, err
	}
	return m, s.append(ctx, m.Rest, lead...)
}

func readHistory(msgs []Message) (*match.History, error) {
	if len(msgs) == 0 {
		return nil, errors.New("the history is empty: hand over all that was said")
	}
	for i, m := range msgs {
		err := checkBlocks(m.Blocks())
		if err == nil {
			err = checkRole(m)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return match.Read(msgs), nil
}
