package pleat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Pin keeps a text verbatim in the views of every epoch from the next one on. Until then no
// view shows it unless the conversation does. Pinning it again moves it to the end of
// [Session.Pins]. If all pins would take more than a quarter of what may be sent, it is refused.
func (s *Session) Pin(ctx context.Context, text string) error {
	return s.locked(ctx, func() error { return s.pinLocked(ctx, text) })
}

func (s *Session) pinLocked(ctx context.Context, text string) error {
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
	if err := s.journal.Pin(ctx, text, false); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return nil
}

// Unpin removes a pinned text.
func (s *Session) Unpin(ctx context.Context, txt string) error {
	return s.locked(ctx, func() error {
		if !slices.Contains(s.st.Pins, txt) {
			return fmt.Errorf("unpin %q: %w", text.Clip(txt, 40), store.ErrNotFound)
		}
		if err := s.journal.Pin(ctx, txt, true); err != nil {
			return fmt.Errorf("unpin: %w", err)
		}
		return nil
	})
}

// Pins returns the pinned texts, oldest first.
func (s *Session) Pins() []string {
	return held(s, func() []string { return slices.Clone(s.st.Pins) })
}

// Limits of notes.
const (
	maxNote  = 64 << 10 // bytes of a note with its key
	maxNotes = 256
)

// Note stores a text under a key, outside of the transcript: at most 256 notes of
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
	if err := s.journal.Note(ctx, key, text); err != nil {
		return fmt.Errorf("note %q: %w", key, err)
	}
	return nil
}

// Notes returns the notes, the newest last.
func (s *Session) Notes() []transcript.Note {
	return held(s, func() []transcript.Note { return slices.Clone(s.st.Notes) })
}

// Used records the usage that the provider reported for the last view, which corrects later estimates.
// The answer may have been appended already. Negative counts are an error.
func (s *Session) Used(ctx context.Context, u model.Usage) error {
	if err := u.Check(); err != nil {
		return fmt.Errorf("record usage of session %s: %w", s.Key(), err)
	}
	return s.locked(ctx, func() error {
		if err := s.journal.Usage(ctx, s.meter.UsageOf(u, s.st.Parts.Total())); err != nil {
			return fmt.Errorf("record usage: %w", err)
		}
		return nil
	})
}

// Spent returns what the session has cost so far in USD, by the price list.
func (s *Session) Spent() float64 {
	return held(s, func() float64 { return s.meter.Spent() })
}

// Ledger returns the calls that the filter selects; the zero filter selects all.
func (s *Session) Ledger(f ledger.Filter) []ledger.Entry {
	return held(s, func() []ledger.Entry { return s.st.Ledger().SelectNamed(f, s.st.Facts()) })
}
