package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Refresh takes in what other processes wrote to the session since it last looked.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.refresh(ctx); err != nil {
		return fmt.Errorf("refresh session %s: %w", s.key, err)
	}
	return nil
}

// Shrink drops messages from memory until the others take about that many bytes. They are
// read from the store when they are needed again.
func (s *Session) Shrink(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Contents.Shrink(bytes)
	s.edited = nil
}

// Weight is about how many bytes of memory the session takes.
func (s *Session) Weight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Weight()
}

// Last is the number of the newest entry that the session knows of.
func (s *Session) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Mark adds messages, if any, and records the place behind them under a label, as an
// entry of kind [store.EntryPrefix] with data of the caller's own; [store.Store].Find finds it again,
// and [Fork] can begin there. It returns the entry's number. If another process wrote
// meanwhile the place is no longer where the caller thinks: the session takes in what was
// written and returns [ErrConflict], as [Session.Append] does.
func (s *Session) Mark(ctx context.Context, label string, data []byte, msgs ...transcript.Message) (uint64, error) {
	return s.MarkAs(ctx, []string{label}, data, msgs...)
}

// MarkAs is like Mark with several labels: an entry for each, in one write. It returns the
// number of the last.
func (s *Session) MarkAs(
	ctx context.Context, labels []string, data []byte, msgs ...transcript.Message,
) (uint64, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	var entries []store.Entry
	for _, label := range labels {
		entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label, Data: data})
	}
	if err := s.append(ctx, appendBatch{}, msgs, entries...); err != nil {
		return 0, fmt.Errorf("mark session %s: %w", s.key, err)
	}
	return s.last, nil
}

// InForce returns the view as it is: no epoch opens, nothing is stored. It is for
// requests beside the conversation, such as counting its tokens.
func (s *Session) InForce() transcript.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce()
}

// SetHead says that the requests from now on have another system prompt or other tools:
// what they take is counted anew. It is not stored. Recall tools that had other names before
// are answered by these too, since stubs name them.
func (s *Session) SetHead(system string, tools []model.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.o.Tools
	s.o.System, s.o.Tools = system, tools
	if s.byTools {
		for _, t := range before {
			if s.recallTool(t.Name) == "" && recall.ToolOf(t) != "" {
				s.past = append(s.past, t)
			}
		}
		s.o.Recall = s.o.unfoldCall()
		s.st.Layout.Recall = s.recall()
	}
	s.st.SetHead(s.headParts())
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
	data := func(e store.Entry) ([]byte, error) { return forkedData(e, from.Session) }
	if forker, ok := st.(store.Forker); ok && from.Tenant == to.Tenant {
		return forker.Fork(ctx, from, upTo, to, data)
	}
	var entries []store.Entry
	for e, err := range st.Scan(ctx, from, 1) {
		if err == nil && e.Seq > upTo {
			break
		}
		if err == nil && e.BodySize > 0 {
			e.Body, err = st.Body(ctx, from, e.BodyHash)
		}
		if err == nil {
			e.Text, err = StoredText(e, codecs)
		}
		if err == nil {
			e.Data, err = data(e)
		}
		if err != nil {
			return fmt.Errorf("fork session %s: %w", from, err)
		}
		entries = append(entries, e)
	}
	if uint64(len(entries)) != upTo {
		return fmt.Errorf("fork session %s at entry %d of %d: %w", from, upTo, len(entries), store.ErrNotFound)
	}
	if _, err := st.Append(ctx, to, 0, entries...); err != nil {
		return fmt.Errorf("fork session %s as %s: %w", from, to.Session, err)
	}
	return nil
}

// forkedData is the data of an entry's copy: it says which session the copy was forked from.
func forkedData(e store.Entry, parent string) ([]byte, error) {
	if e.Kind != store.EntrySession {
		return e.Data, nil
	}
	var d sessionData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return nil, errors.Join(store.ErrCorrupt, err)
	}
	d.Parent = parent
	return json.Marshal(d)
}
