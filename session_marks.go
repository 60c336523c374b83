package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Refresh takes in what other processes wrote to the session since it last looked.
func (s *Session) Refresh(ctx context.Context) error {
	defer s.begin(ctx)()
	if err := s.refresh(ctx); err != nil {
		return fmt.Errorf("refresh session %s: %w", s.key, err)
	}
	return nil
}

// Last is the number of the newest entry that the session knows of.
func (s *Session) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Mark adds messages, if any, and records the place behind them under a label, as an
// entry of kind [EntryPrefix] with data of the caller's own; [Store.Find] finds it again,
// and [Fork] can begin there. It returns the entry's number. If another process wrote
// meanwhile the place is no longer where the caller thinks: the session takes in what was
// written and returns [ErrConflict], as [Session.Append] does.
func (s *Session) Mark(ctx context.Context, label string, data []byte, msgs ...Message) (uint64, error) {
	defer s.begin(ctx)()
	if err := s.append(ctx, msgs, Entry{Kind: EntryPrefix, Label: label, Data: data}); err != nil {
		return 0, fmt.Errorf("mark session %s: %w", s.key, err)
	}
	return s.last, nil
}

// InForce returns the view as it is: no epoch opens, nothing is stored. It is for
// requests beside the conversation, such as counting its tokens.
func (s *Session) InForce() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce()
}

// SetHead says that the requests from now on have another system prompt or other tools:
// what they take is counted anew. It is not stored.
func (s *Session) SetHead(system string, tools []Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.System, s.o.Tools = system, tools
	head := s.o.headParts()
	s.st.parts.System += head.System - s.st.head.System
	s.st.parts.Tools += head.Tools - s.st.head.Tools
	s.st.head = head
}

// Fork copies the entries 1 to upTo of a session into a new one: the same conversation
// up to there, with the same folds and the same handles, so that views are the same
// bytes. Both go their own ways from then on. If the new session is there already it
// is [ErrConflict].
func Fork(ctx context.Context, store Store, from SessionKey, upTo uint64, to SessionKey, codecs map[Format]Codec) error {
	var entries []Entry
	for e, err := range store.Scan(ctx, from, 1) {
		if err != nil {
			return fmt.Errorf("fork session %s: %w", from, err)
		}
		if e.Seq > upTo {
			break
		}
		if e, err = forked(ctx, store, from, e, codecs); err != nil {
			return fmt.Errorf("fork session %s: %w", from, err)
		}
		entries = append(entries, e)
	}
	if uint64(len(entries)) != upTo {
		return fmt.Errorf("fork session %s at entry %d of %d: %w", from, upTo, len(entries), ErrNotFound)
	}
	if _, err := store.Append(ctx, to, 0, entries...); err != nil {
		return fmt.Errorf("fork session %s as %s: %w", from, to.Session, err)
	}
	return nil
}

func forked(ctx context.Context, store Store, from SessionKey, e Entry, codecs map[Format]Codec) (Entry, error) {
	var err error
	if e.BodySize > 0 {
		if e.Body, err = store.Body(ctx, from, e.BodyHash); err != nil {
			return Entry{}, err
		}
	}
	if e.Text, err = StoredText(e, codecs); err != nil {
		return Entry{}, err
	}
	if e.Kind == EntrySession {
		var d sessionData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return Entry{}, errors.Join(ErrCorrupt, err)
		}
		d.Parent = from.Session
		if e.Data, err = json.Marshal(d); err != nil {
			return Entry{}, err
		}
	}
	e.Seq, e.BodyHash, e.BodySize = 0, Hash{}, 0
	return e, nil
}
