package pleat

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
)

// Undo drops the newest epoch's folds: the view is what it would be without that epoch.
// It returns [ErrCannotFit] if that would be too large to send. A pin that the epoch showed is shown
// again by the next one.
func (s *Session) Undo(ctx context.Context) error {
	return s.locked(ctx, func() error { return s.undoLocked(ctx, s.meter.Most()) })
}

// UndoAll takes back every epoch, whatever the budget, so that a session can be folded
// anew. The next view opens an epoch if it must.
func (s *Session) UndoAll(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for conflicts := 0; ; {
		if _, ok := s.st.Undone(); !ok {
			return nil
		}
		err := s.undoLocked(ctx, math.MaxInt)
		if errors.Is(err, store.ErrConflict) && conflicts < journal.Tries { // it has taken in what others wrote
			conflicts++
			continue
		}
		if err != nil {
			return err
		}
	}
}

// undoLocked takes back the newest epoch in force, if the view has at most so many tokens then.
func (s *Session) undoLocked(ctx context.Context, most int) error {
	d, ok := s.st.Undone()
	if !ok {
		return fmt.Errorf("undo: no epoch is in force: %w", store.ErrNotFound)
	}
	thinking := s.o.Model.Thinking
	d.DropThinking, d.Window = thinking.Bound, s.o.Budget.Window
	in, err := s.st.SetOf(d.InForce, d.Bare)
	if err != nil {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, err)
	}
	parts := s.st.PartsIn(in)
	if parts.Total() > most {
		return fmt.Errorf("undo epoch %d: %w without it: the view has %s tokens, and at most %s may be sent",
			d.Epoch, ErrCannotFit, text.Thousands(parts.Total()), text.Thousands(most))
	}
	d.Before, d.After = s.st.Parts.Total(), parts.Total()
	if err := s.journal.Epoch(ctx, d); err != nil {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, err)
	}
	snap := s.snapshotLocked()
	s.say.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	return nil
}
