package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Pin keeps a text verbatim in the views of every epoch from the next one on. Until then no
// view shows it unless the conversation does. Pinning it again moves it to the end of
// [Session.Pins]. What would take more than a quarter of the window is refused.
func (s *Session) Pin(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pin(ctx, text)
}

func (s *Session) pin(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("pin: the text is empty")
	}
	size, most := 0, s.limits().Max/4
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
	s.mu.Lock()
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
	s.mu.Lock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	usd, _ := s.o.Model.Cost(u)
	return s.writeUsage(ctx, usageData{Usage: u, Estimated: s.lastSent(), USD: usd})
}

func (s *Session) writeUsage(ctx context.Context, d usageData) error {
	d.Model = s.o.Model.ID
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	if err := s.put(ctx, store.Entry{Kind: store.EntryUsage, Data: data}); err != nil {
		return fmt.Errorf("record usage: %w", err)
	}
	return nil
}

// lastSent is the size of the last view that was given out. Of a restored session that
// is not known; then it is taken to be what the view is now.
func (s *Session) lastSent() int {
	if s.sent > 0 {
		return s.sent
	}
	return s.st.Parts.Total()
}

// Spent is what the session has cost so far in USD, by the price list.
func (s *Session) Spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usd
}

// Undo drops the newest epoch's folds: the view is what it would be without that epoch.
// Nothing needs to be brought back, because nothing was gone. It is refused with
// [ErrCannotFit] if the result would be too large to send.
func (s *Session) Undo(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.undo(ctx, s.limits().Max)
}

// UndoAll takes back every epoch, whatever the budget: for a session that is to be folded
// anew. The next view opens an epoch if it must.
func (s *Session) UndoAll(ctx context.Context) error {
	s.mu.Lock()
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
		return fmt.Errorf("undo epoch %d, without which the view is too large: %w", d.Epoch, s.cannotFit(parts, most))
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
	return slices.Clone(s.st.Said()), s.st.Words().Tasks()
}

// Report says what was folded, why, and how to get it back.
type Report struct {
	Session  string         `json:"session"`
	Messages int            `json:"messages"` // in the transcript
	Epochs   []Epoch        `json:"epochs"`
	Folds    []*fold.Fold   `json:"folds"` // in force
	Snapshot fold.Snapshot  `json:"snapshot"`
	Whole    int            `json:"tokens_whole"` // what the whole transcript would take
	Cache    fold.CacheCost `json:"cache"`        // of the newest epoch
	// Digests tell how each digest came to be, oldest first: by a model, or by code where
	// a model was asked in vain or the notes said enough.
	Digests []digest.Origin `json:"digests,omitempty"`
}

// Epoch is one opening of an epoch, or its undoing.
type Epoch struct {
	Number   int          `json:"number"`            // counted from 1
	Messages int          `json:"messages"`          // length of the transcript when it opened
	Trigger  fold.Trigger `json:"trigger"`           // why it opened
	Undo     bool         `json:"undo,omitempty"`    // it was taken back here
	Focus    string       `json:"focus,omitempty"`   // what whoever asked cared for most
	Folds    int          `json:"folds"`             // new ones
	Window   int          `json:"window,omitempty"`  // of the budget in force; 0: not known
	Before   int          `json:"tokens_before"`     // of the view before
	After    int          `json:"tokens_after"`      // of the view after
	Warning  string       `json:"warning,omitempty"` // empty: all went well
	// Kept are files that stay in view because they were read again after each of the
	// epochs before.
	Kept []string `json:"kept,omitempty"`
}

// Report says what was folded so far.
func (s *Session) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report()
}

func (s *Session) report() Report {
	r := Report{
		Session: s.key.Session, Messages: s.st.Len(), Snapshot: s.snapshot(), Digests: slices.Clone(s.digests),
		Whole: s.whole(), Epochs: []Epoch{}, Folds: []*fold.Fold{},
	}
	for _, d := range s.st.History {
		r.Epochs = append(r.Epochs, Epoch{
			d.Epoch, d.Messages, d.Trigger, d.Undo, d.Focus, len(d.Folds), d.Window, d.Before, d.After, d.Warning,
			d.Kept,
		})
		r.Cache = d.Cache
	}
	for _, id := range s.st.Layout.In.IDs() {
		r.Folds = append(r.Folds, s.st.Folds[id-1])
	}
	return r
}

// String tells the report to a person.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s messages, %s tokens whole, %s shown (%.0f %% of the window, %s)\n", text.Thousands(r.Messages),
		text.Thousands(r.Snapshot.Whole), text.Thousands(r.Snapshot.Tokens), 100*r.Snapshot.Utilization,
		r.Snapshot.State)
	for _, e := range r.Epochs {
		what := fmt.Sprintf("epoch %d (%s): %s", e.Number, e.Trigger, text.Plural(e.Folds, "fold"))
		if e.Undo {
			what = fmt.Sprintf("epoch %d undone", e.Number)
		}
		fmt.Fprintf(&b, "%s, %s → %s tokens\n", what, text.Thousands(e.Before), text.Thousands(e.After))
		if len(e.Kept) > 0 {
			fmt.Fprintf(&b, "  kept, because read again after each epoch: %s\n", strings.Join(e.Kept, ", "))
		}
	}
	for _, d := range r.Digests {
		fmt.Fprintln(&b, d)
	}
	for _, f := range r.Folds {
		fmt.Fprintf(&b, "  %-9s %s %s, %s: %s\n",
			f.Lever, f.Handle, text.Plural(f.Lines, "line"), text.Plural(f.Bytes, "byte"), f.Reason)
	}
	return b.String()
}
