package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Pin keeps a text verbatim in the views of every epoch from the next one on. Until then no
// view shows it unless the conversation does. Pinning it again moves it to the end of
// [Session.Pins]. If all pins would take more than a quarter of what may be sent, it is refused.
func (s *Session) Pin(ctx context.Context, text string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.pin(ctx, text)
}

func (s *Session) pin(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("pin: the text is empty")
	}
	size, most := 0, s.meter.Limits().Max/4
	others := slices.DeleteFunc(slices.Clone(s.st.Pins), func(p string) bool { return p == text })
	for _, p := range append(others, text) {
		size += s.o.Tokens.CountText(p)
	}
	if size > most {
		const tooLong = "pin: with it the pinned texts have %d tokens; all views must hold them, so %d is the most"
		return fmt.Errorf(tooLong, size, most)
	}
	return s.writePin(ctx, pinData{Text: text})
}

// Unpin lets go of a pinned text.
func (s *Session) Unpin(ctx context.Context, txt string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !slices.Contains(s.st.Pins, txt) {
		return fmt.Errorf("unpin %q: %w", text.Clip(txt, 40), store.ErrNotFound)
	}
	return s.writePin(ctx, pinData{Text: txt, Remove: true})
}

func (s *Session) writePin(ctx context.Context, d pinData) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode pin: %w", err)
	}
	if err := s.put(ctx, store.Entry{Kind: store.EntryPin, Data: data}); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return nil
}

// Pins returns the pinned texts, oldest first.
func (s *Session) Pins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.Pins)
}

// Bounds of what notes may take.
const (
	maxNote  = 64 << 10 // bytes of a note with its key
	maxNotes = 256
)

// Note writes something down under a key, outside of the transcript: at most 256 notes of
// 64 KB. An empty text removes the note.
func (s *Session) Note(ctx context.Context, key, text string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	known := slices.ContainsFunc(s.st.Notes, func(n transcript.Note) bool { return n.Key == key })
	switch {
	case key == "":
		return errors.New("note: the key is empty")
	case len(key)+len(text) > maxNote:
		return fmt.Errorf("note: it has %d bytes; %d is the most, so write it to a file", len(key)+len(text), maxNote)
	case !known && text != "" && len(s.st.Notes) >= maxNotes:
		return fmt.Errorf("note %q: there are %d notes; remove one first", key, maxNotes)
	}
	data, err := json.Marshal(transcript.Note{Key: key, Text: text})
	if err != nil {
		return fmt.Errorf("encode note: %w", err)
	}
	if err := s.put(ctx, store.Entry{Kind: store.EntryNote, Label: key, Data: data}); err != nil {
		return fmt.Errorf("note %q: %w", key, err)
	}
	return nil
}

// Notes returns the notes, the newest last.
func (s *Session) Notes() []transcript.Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.Notes)
}

// Used records what the provider reports for the last view. It corrects later estimates.
// The answer may have been appended already. Negative counts are refused.
func (s *Session) Used(ctx context.Context, u model.Usage) error {
	if err := u.Check(); err != nil {
		return fmt.Errorf("record usage of session %s: %w", s.key, err)
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.writeUsage(ctx, s.meter.Used(u, s.st.Parts.Total()))
}

func (s *Session) writeUsage(ctx context.Context, u meter.Usage) error {
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	if err := s.put(ctx, store.Entry{Kind: store.EntryUsage, Data: data}); err != nil {
		return fmt.Errorf("record usage: %w", err)
	}
	return nil
}

// Spent is what the session has cost so far in USD, by the price list.
func (s *Session) Spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.Spent()
}

// Undo drops the newest epoch's folds: the view is what it would be without that epoch.
// Nothing needs to be brought back, because nothing was gone. It is refused with
// [ErrCannotFit] if the result would be too large to send. A pin that the epoch showed is shown
// again by the next one.
func (s *Session) Undo(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.undo(ctx, s.meter.Limits().Max)
}

// UndoAll takes back every epoch, whatever the budget: for a session that is to be folded
// anew. The next view opens an epoch if it must.
func (s *Session) UndoAll(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for {
		if _, ok := s.st.Undone(); !ok {
			return nil
		}
		if err := s.undo(ctx, math.MaxInt); err != nil {
			return err
		}
	}
}

// undo takes back the newest epoch in force, if the view has at most so many tokens then.
func (s *Session) undo(ctx context.Context, most int) error {
	d, ok := s.st.Undone()
	if !ok {
		return fmt.Errorf("undo: no epoch is in force: %w", store.ErrNotFound)
	}
	d.DropThinking, d.Window = s.o.Model.Thinking.Bound, s.o.Budget.Window
	in, err := s.st.SetOf(d.InForce, d.Bare)
	if err != nil {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, err)
	}
	then := s.st.Layout
	then.In = in
	parts, _ := then.Parts()
	if parts.Total() > most {
		return fmt.Errorf("undo epoch %d: %w without it: the view has %s tokens, and at most %s may be sent",
			d.Epoch, ErrCannotFit, text.Thousands(parts.Total()), text.Thousands(most))
	}
	d.Before, d.After = s.st.Parts.Total(), parts.Total()
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode epoch: %w", err)
	}
	if err := s.write(ctx, store.Entry{Kind: store.EntryEpoch, Data: data}); err != nil {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, err)
	}
	snap := s.snapshot()
	s.tell(ctx, Event{Kind: EventSnapshot, Snapshot: &snap})
	return nil
}

// Ledger returns the calls that the filter selects; the zero filter selects all.
func (s *Session) Ledger(f ledger.Filter) []ledger.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Ledger().SelectNamed(f, s.st.Facts())
}

// Words returns what people said in the session and the task list.
func (s *Session) Words() (said []userwords.Said, tasks userwords.TaskState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Said(), s.st.Words().Tasks()
}
