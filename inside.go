package pleat

import (
	"context"
	"errors"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

func init() { inside.Provide(func(s any) inside.Session { return inner{s.(*Session)} }) }

// inner is a session as pleat's own packages and the recall tools use it.
type inner struct{ *Session }

func (s inner) CanTakeBack(b conv.Back) (can, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	can = b.Count == 0 || s.st.LooseFrom() <= b.From
	return can, b.Again != nil && s.st.CanShorten(b.From-1, conv.ShapesOf(*b.Again))
}

func (s inner) TakeBack(ctx context.Context, b conv.Back) error {
	return s.locked(ctx, func() error {
		entries, err := s.backLocked(b)
		if err == nil {
			err = s.appendLocked(ctx, entries, nil)
		}
		return err
	})
}

func (s inner) Mark(
	ctx context.Context, labels []string, data []byte, msgs ...transcript.Message,
) (uint64, error) {
	var entries []store.Entry
	for _, label := range labels {
		entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label, Data: data})
	}
	return within(ctx, s.Session, "mark", func() (uint64, error) {
		err := s.appendLocked(ctx, nil, msgs, entries...)
		return s.journal.Last(), err
	})
}

func (s inner) LastSeq() uint64 {
	return held(s.Session, func() uint64 { return s.journal.Last() })
}

func (s inner) LastAnswerTime() time.Time {
	return held(s.Session, func() time.Time { return s.journal.Answered })
}

func (s inner) ProviderTokens(n int) tokens.Reported {
	return held(s.Session, func() tokens.Reported { return s.meter.Reported(n) })
}

func (s inner) CurrentView() transcript.View {
	return held(s.Session, func() transcript.View { return s.st.ViewWithLead() })
}

func (s inner) UsedAside(ctx context.Context, m model.Model, u model.Usage) error {
	usd, _ := m.Cost(u)
	return s.locked(ctx, func() error {
		return s.journal.Usage(ctx, meter.Usage{Usage: u, Model: m.ID, USD: usd}) // with no estimate to learn from
	})
}

func (s inner) Page(ctx context.Context, room fold.PageRoom) (string, error) {
	return within(ctx, s.Session, "write page of", func() (string, error) {
		defer s.pages.Forget()
		past := s.st.Past()
		p, err := s.pages.Page(ctx, fold.PageRequest{
			End: s.st.Len(), Pins: past.Pins, Notes: past.Notes, Recall: s.o.Recall, Room: room,
			Restore: fold.Restore{State: true},
		})
		return p.Text, err
	})
}

func (s inner) Answer(ctx context.Context, tool, input string) (text string, isError, handled bool) {
	if err := s.wait(ctx); err != nil {
		return err.Error(), true, true
	}
	window := s.meter.Window()
	s.mu.Unlock()
	return recall.Answer(ctx, s, window, tool, input)
}

func (s inner) UserWords() (said []userwords.Said, tasks userwords.TaskState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Said(), s.st.Words().Tasks()
}

func (s inner) Blocks(ctx context.Context, visit func(*finder.Block)) (messages int, err error) {
	err = s.locked(ctx, func() error {
		messages = s.st.Len()
		return s.finderLocked().Blocks(ctx, visit)
	})
	return messages, err
}

func (s inner) LedgerText(f ledger.Filter, budget int) string {
	return held(s.Session, func() string { return s.finderLocked().LedgerText(f, budget) })
}

// Snip takes the middle of the conversation out of view, where the policy snips.
func (s inner) Snip(ctx context.Context, keep int) (recall.Compacted, error) {
	l := inside.Snipper(s.o.Policy, s.o.Child, keep)
	if l == nil {
		return recall.Compacted{}, errors.New("this conversation is not snipped")
	}
	p, err := s.Pull(ctx, l)
	if err != nil || p.IsEmpty() {
		return recall.Compacted{}, err
	}
	return recall.Compacted{Folds: len(p.Folds), Before: p.Before, After: p.After}, nil
}

// Compact is [Session.Compact] as a recall tool.
func (s inner) Compact(ctx context.Context, focus string) (recall.Compacted, error) {
	p, err := s.Session.Compact(ctx, focus)
	if err != nil || p.IsEmpty() {
		return recall.Compacted{}, err
	}
	return recall.Compacted{
		Folds: len(p.Folds), Before: p.Before, After: p.After, Answer: s.o.Policy.Asks().Answer,
	}, nil
}

func (s inner) Shrink(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Contents.Shrink(bytes)
	s.shown.edited = nil
}

func (s inner) MemoryBytes() int {
	return held(s.Session, func() int { return s.st.Weight() })
}
