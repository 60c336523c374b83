package pleat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Append adds messages. When it returns they are durable. Results that are too
// large are spilled on the way, as the policy says. If another process wrote to the session
// meanwhile, the session takes in what it wrote and returns [ErrConflict]; if it deleted the
// session, [ErrNotFound]: then open it again. Messages are written several
// at a time, in order, and one whose results may be spilled begins a write of its own: an
// error is an [*AppendError], which says how many were added before it. A context that ends between
// the writes of calls and of their results does not part them. Calls that a crash left without a
// result get one by [Session.Repair]. What a person types while calls wait for their results may come
// before them: [Session.Messages] shows it behind.
func (s *Session) Append(ctx context.Context, msgs ...transcript.Message) error {
	if err := s.wait(ctx); err != nil {
		return &AppendError{s.key, 0, len(msgs), err}
	}
	defer s.mu.Unlock()
	return s.append(ctx, appendBatch{}, msgs)
}

// append adds messages, in a write that may be begun, and, in the same as the last of them, further entries.
func (s *Session) append(ctx context.Context, b appendBatch, msgs []transcript.Message, more ...store.Entry) error {
	done := 0
	flush := func() error {
		ctx := ctx
		if done > 0 && s.inRound() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), roundGrace)
			defer cancel()
		}
		err := s.appendBatch(ctx, &b)
		if err == nil {
			done += len(b.fresh)
			b = appendBatch{}
		}
		return err
	}
	for rest := msgs; len(rest) > 0; {
		some := s.prepareSome(rest)
		rest = rest[len(some):]
		for _, n := range some {
			err := n.err
			if err == nil {
				err = s.join(ctx, &b, n.newMessage, flush)
			} else if again := flush(); again != nil {
				err = again
			}
			if err != nil {
				return &AppendError{s.key, done, len(msgs), err}
			}
		}
	}
	b.entries = append(b.entries, more...)
	if err := flush(); err != nil {
		return &AppendError{s.key, done, len(msgs), err}
	}
	return nil
}

// inRound reports whether the conversation ends on calls of which not all are answered.
func (s *Session) inRound() bool {
	rounds := s.st.Rounds()
	return len(rounds) > 0 && rounds[len(rounds)-1].End == s.st.Len() && rounds[len(rounds)-1].Open()
}

const (
	batchBytes = 8 << 20 // is written at a time, about
	// roundGrace is how long results may take to be written whose calls are, although the context has
	// ended: without them later requests would not be legal.
	roundGrace = 10 * time.Second
)

// maxConflicts is how often something is tried again because others wrote meanwhile.
const maxConflicts = 100

type appendBatch struct {
	entries []store.Entry
	fresh   []newMessage
	spilled []*fold.Fold
	bytes   int
	results int // bytes of the results right before the next message, at least
}

// resultsBefore returns how many bytes the results at the end of the transcript have.
func (s *Session) resultsBefore() (n int) {
	facts := s.st.Facts()
	for i := len(facts) - 1; i >= 0 && facts.Has(i, transcript.KindToolResult); i-- {
		for k := range facts[i].Blocks {
			n += int(facts[i].Blocks[k].Bytes)
		}
	}
	return n
}

// join adds a message to a write. Spilling is decided on a message that is not recorded
// yet but knows all before it, so a message that may have to spill begins a write. Message
// and fold reach the store together: a message whose spill was lost would go out whole.
func (s *Session) join(ctx context.Context, b *appendBatch, n newMessage, flush func() error) error {
	results := b.results
	if len(b.fresh) == 0 {
		results = s.resultsBefore()
	}
	size := func(block int) int { return n.shapes[block].Bytes + results }
	spills, err := s.o.Policy.MayFoldAtBirth(n.m, size, s.meter.BirthLimits())
	if err != nil {
		s.failed(ctx, err)
		spills = true // by another lever
	}
	if spills || b.bytes > batchBytes {
		if err := flush(); err != nil {
			return err
		}
	}
	b.entries, b.fresh = append(b.entries, n.entry), append(b.fresh, n)
	b.bytes += len(n.entry.Body) + len(n.entry.Text)
	if b.results = 0; n.m.Blocks().Has(transcript.KindToolResult) {
		b.results = results + len(n.entry.Body)
	}
	if !spills {
		return nil
	}
	return s.spill(ctx, b, n.m)
}

func (s *Session) appendBatch(ctx context.Context, b *appendBatch) error {
	if len(b.entries) == 0 {
		return nil
	}
	s.fresh = b.fresh
	defer func() { s.fresh = nil }()
	if err := s.write(ctx, b.entries...); err != nil {
		return err
	}
	for _, f := range b.spilled {
		s.tell(ctx, Event{Kind: EventSpill, Fold: f})
	}
	return nil
}

// spill adds the folds of a message's large results, if there are any.
func (s *Session) spill(ctx context.Context, b *appendBatch, m transcript.Message) error {
	o := fold.BirthOptions{
		Limits: s.meter.BirthLimits(), Folds: len(s.st.Folds), In: s.st.Layout.In, Shown: s.st.Marked, Recall: s.st.Layout.Recall,
	}
	if s.o.KeepFile != nil {
		o.Keep = func(name, text string) string { return s.keepFile(ctx, name, text) }
	}
	err := s.leavingOut(ctx, &o.Barred, func() (err error) {
		b.spilled, err = fold.AtBirth(ctx, s.st, m, &s.o.Policy, o)
		return err
	})
	if err != nil || len(b.spilled) == 0 {
		return err
	}
	data, err := json.Marshal(foldData{Folds: b.spilled})
	if err != nil {
		return fmt.Errorf("encode folds: %w", err)
	}
	b.entries = append(b.entries, store.Entry{Kind: store.EntryFold, Data: data})
	return nil
}

// keepFile keeps a plain copy. What is copied is in the store, so work goes on without the copy.
func (s *Session) keepFile(ctx context.Context, name, text string) string {
	kept, err := s.o.KeepFile(name, []byte(text))
	if err != nil {
		s.warn(ctx, Event{Warning: fmt.Sprintf("%s could not be written, the store has it: %v", name, err)})
		return ""
	}
	return kept
}

// write stores entries and, once they are durable, takes them in.
func (s *Session) write(ctx context.Context, entries ...store.Entry) error {
	now := s.o.Now()
	for i := range entries {
		entries[i].Time = now
	}
	last, err := s.store.Append(ctx, s.key, s.last, entries...)
	if err != nil {
		if errors.Is(err, store.ErrConflict) {
			s.fresh = nil // what is read now is somebody else's
			if again := s.refresh(ctx); again != nil {
				err = again // trying again is of no use
			}
		}
		if ctx.Err() == nil && !errors.Is(err, store.ErrConflict) { // else it is the caller, or others, who stopped it
			s.tell(ctx, Event{Kind: EventError, Err: err})
		}
		return err
	}
	for i := range entries {
		entries[i].Seq = last - uint64(len(entries)-1-i)
		if err := s.take(ctx, entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// take takes in the next entry.
func (s *Session) take(ctx context.Context, e store.Entry) error {
	if err := s.apply(ctx, e); err != nil {
		return err
	}
	s.last, s.entry = e.Seq, store.Entry{Kind: e.Kind, Label: e.Label, Time: e.Time, Data: e.Data}
	return nil
}

// isNewest reports whether an entry is the newest that was taken in.
func (s *Session) isNewest(e store.Entry) bool {
	return e.Kind == s.entry.Kind && e.Label == s.entry.Label && e.Time.UnixMilli() == s.entry.Time.UnixMilli() &&
		bytes.Equal(e.Data, s.entry.Data)
}

// put writes an entry that does not depend on what others write: it is written after
// theirs.
func (s *Session) put(ctx context.Context, e store.Entry) error {
	for try := 0; ; try++ {
		if err := s.write(ctx, e); !errors.Is(err, store.ErrConflict) || try == maxConflicts {
			return err
		}
	}
}

// refresh takes in entries that were written since the session last looked. If its newest
// entry is no longer there, somebody has deleted the session, and perhaps begun another under
// its name: the error is [store.ErrNotFound].
func (s *Session) refresh(ctx context.Context) error {
	there := s.last == 0
	for e, err := range s.store.Scan(ctx, s.key, max(s.last, 1)) {
		if err != nil {
			return err
		}
		if e.Seq == s.last && !there {
			if there = s.isNewest(e); !there {
				break
			}
			continue
		}
		if err := s.take(ctx, e); err != nil {
			return err
		}
	}
	if !there {
		return fmt.Errorf("entry %d is gone, the session was deleted: open it again: %w", s.last, store.ErrNotFound)
	}
	return nil
}
