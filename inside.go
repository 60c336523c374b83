package pleat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

func init() { inside.Provide(func(s any) inside.Session { return inner{s.(*Session)} }) }

// inner is a session as pleat's own packages and the recall tools use it.
type inner struct{ *Session }

func (s inner) Mark(
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
	if err := s.appendLocked(ctx, nil, msgs, entries...); err != nil {
		return 0, fmt.Errorf("mark session %s: %w", s.Key(), err)
	}
	return s.journal.Last(), nil
}

func (s inner) LastSeq() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.Last()
}

func (s inner) LastAnswerTime() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.Answered
}

func (s inner) ProviderTokens(n int) tokens.Reported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.Reported(n)
}

func (s inner) CurrentView() transcript.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.ViewWithLead()
}

func (s inner) RecordSentWhole() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.Sent(s.st.WholeView())
}

func (s inner) Page(ctx context.Context, room fold.PageRoom) (string, error) {
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	defer s.pages.Forget()
	past := s.st.Past()
	p, err := s.pages.Page(ctx, fold.PageRequest{
		End: s.st.Len(), Pins: past.Pins, Notes: past.Notes, Recall: s.o.Recall, Room: room,
		Restore: fold.Restore{State: true},
	})
	if err != nil {
		return "", fmt.Errorf("write page of session %s: %w", s.Key(), err)
	}
	return p.Text, nil
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

func (s inner) SetHeadTokens(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.SetHead(fold.Parts{System: n})
}

func (s inner) Blocks(ctx context.Context, visit func(*finder.Block)) (messages int, err error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.st.Len(), s.finderLocked().Blocks(ctx, visit)
}

func (s inner) LedgerText(f ledger.Filter, budget int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finderLocked().LedgerText(f, budget)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Weight()
}
