package pleat

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Messages returns the messages to send now: [Session.View] and [Session.Resolve] in one.
// Programs that send bytes of a wire want the view itself, which also says whether thinking
// has to be dropped.
func (s *Session) Messages(ctx context.Context) ([]Message, error) {
	v, err := s.View(ctx, Turn{})
	if err != nil {
		return nil, err
	}
	return s.Resolve(ctx, v)
}

// Answer answers a call to one of the [RecallTools] that [Options].Tools has. It reports
// false if the tool is none of them: then the call is the program's own to carry out.
func (s *Session) Answer(ctx context.Context, call ToolCall) (ToolResult, bool) {
	tool := s.recallTool(call.Name)
	if tool == "" {
		return ToolResult{}, false
	}
	text, failed, _ := s.Recall(ctx, tool, call.Input.String())
	r := transcript.Result(call.ID, text)
	r.Error = failed
	return r, true
}

// recallTool returns which recall tool the session's model knows by a name; empty: none.
func (s *Session) recallTool(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.o.Tools {
		if t.Name == name {
			return recall.ToolOf(t)
		}
	}
	return ""
}

// Sync takes in the history of a program that hands over the whole of it at each call. It
// appends what is new and returns the session to go on with. That is s itself, unless the
// history goes another way than s, because something was edited or taken back: then it is a
// fork of s that begins where they part, under a name that follows from the history.
//
// Messages are compared by role and content. Thinking does not count, since many programs
// drop it; nor does the content of images.
func (s *Session) Sync(ctx context.Context, history []Message) (*Session, error) {
	same, upTo := s.shared(history)
	if upTo == 0 {
		if same < len(history) {
			return s, s.Append(ctx, history[same:]...)
		}
		return s, nil
	}
	key := s.key
	key.Session += "~" + hex.EncodeToString(historyHash(history[:min(same+1, len(history))])[:6])
	err := Fork(ctx, s.store, s.key, upTo, key, s.o.Codecs)
	if err != nil && !errors.Is(err, store.ErrConflict) { // else the fork is there already
		return nil, err
	}
	fork, err := OpenSession(ctx, s.store, key, &s.o)
	if err != nil {
		return nil, err
	}
	if at, _ := fork.shared(history); at < len(history) {
		if err := fork.Append(ctx, history[at:]...); err != nil {
			return nil, err
		}
	}
	return fork, nil
}

// shared says how many messages the session and a history have in common. If the session
// goes on differently, upTo is the entry before its first message that the history lacks.
func (s *Session) shared(history []Message) (same int, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.st.Len()
	for same < n && same < len(history) && s.st.Same(same, history[same]) {
		same++
	}
	if same == n {
		return same, 0
	}
	return same, s.st.Contents.Entry(same) - 1
}

// historyHash stands for a history in the name of a fork.
func historyHash(history []Message) []byte {
	var all []byte
	for _, m := range history {
		h := conv.Fingerprint(m)
		all = append(all, h[:]...)
	}
	h := transcript.HashOf(string(all))
	return h[:]
}
