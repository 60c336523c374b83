package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pin keeps a text verbatim in every view from the next epoch on; until then it is in
// the transcript anyway, or the caller shows it. Pinning it again does nothing.
func (s *Session) Pin(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("pin: the text is empty")
	}
	defer s.begin(ctx)()
	return s.writePin(ctx, pinData{Text: text})
}

// Unpin lets go of a pinned text.
func (s *Session) Unpin(ctx context.Context, text string) error {
	defer s.begin(ctx)()
	if !slices.Contains(s.st.pinned, text) {
		return fmt.Errorf("unpin %q: %w", clip(text, 40), ErrNotFound)
	}
	return s.writePin(ctx, pinData{Text: text, Remove: true})
}

func (s *Session) writePin(ctx context.Context, d pinData) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode pin: %w", err)
	}
	if err := s.put(ctx, Entry{Kind: EntryPin, Data: data}); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return nil
}

// Pins returns the pinned texts, oldest first.
func (s *Session) Pins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.pinned)
}

// Note writes something down under a key, outside of the transcript. An empty text
// removes the note.
func (s *Session) Note(ctx context.Context, key, text string) error {
	if key == "" {
		return errors.New("note: the key is empty")
	}
	defer s.begin(ctx)()
	data, err := json.Marshal(Note{key, text})
	if err != nil {
		return fmt.Errorf("encode note: %w", err)
	}
	if err := s.put(ctx, Entry{Kind: EntryNote, Label: key, Data: data}); err != nil {
		return fmt.Errorf("note %q: %w", key, err)
	}
	return nil
}

// Notes returns the notes, the newest last.
func (s *Session) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.notes)
}

// Used records what the provider reports for the last view. It corrects later estimates.
// The answer may have been appended already.
func (s *Session) Used(ctx context.Context, u Usage) error {
	defer s.begin(ctx)()
	usd, _ := s.o.Model.Cost(u)
	return s.writeUsage(ctx, usageData{Usage: u, Estimated: s.lastSent(), USD: usd})
}

func (s *Session) writeUsage(ctx context.Context, d usageData) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	if err := s.put(ctx, Entry{Kind: EntryUsage, Data: data}); err != nil {
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
	return s.st.parts.Total()
}

// Spent is what the session has cost so far in USD, by the price table.
func (s *Session) Spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usd
}

// Undo drops the newest epoch's folds: the view is what it would be without that epoch.
// Nothing needs to be brought back, because nothing was gone. It is refused with
// [ErrCannotFit] if the result would be too large to send.
func (s *Session) Undo(ctx context.Context) error {
	defer s.begin(ctx)()
	d, ok := s.st.undone()
	if !ok {
		return fmt.Errorf("undo: no epoch is in force: %w", ErrNotFound)
	}
	d.DropThinking = s.o.Model.Thinking.Bound
	in := s.st.setOf(d.InForce, d.Bare)
	parts, _ := s.st.renderedParts(in)
	if total := parts.Total(); total > s.limits().Max {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, &CannotFitError{Parts: parts, Max: s.limits().Max})
	}
	d.Before, d.After = s.st.parts.Total(), parts.Total()
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode epoch: %w", err)
	}
	if err := s.write(ctx, Entry{Kind: EntryEpoch, Data: data}); err != nil {
		return fmt.Errorf("undo epoch %d: %w", d.Epoch, err)
	}
	snap := s.snapshot()
	s.tell(Event{Kind: EventSnapshot, Snapshot: &snap})
	return nil
}

// undone is the record that takes the newest epoch back: what was in force before it,
// and what was spilled at birth since then.
func (s *folding) undone() (epochData, bool) {
	at := s.inEffect()
	if len(at) == 0 {
		return epochData{}, false
	}
	d := epochData{Epoch: s.history[at[len(at)-1]].Epoch, Messages: s.t.Len(), Undo: true, Trigger: TriggerAsked}
	if len(at) > 1 {
		prev := s.history[at[len(at)-2]]
		d.InForce, d.Bare = slices.Clone(prev.InForce), prev.Bare
	}
	for _, f := range s.folds {
		if f.Lever == LeverSpill && !slices.Contains(d.InForce, f.ID) {
			d.InForce = append(d.InForce, f.ID)
		}
	}
	slices.Sort(d.InForce)
	return d, true
}

// inEffect lists the epochs that were not undone, as places in history.
func (s *folding) inEffect() []int {
	var at []int
	for i, d := range s.history {
		if !d.Undo {
			at = append(at, i)
		} else if len(at) > 0 {
			at = at[:len(at)-1]
		}
	}
	return at
}

// Ledger returns the calls that the filter selects; the zero filter selects all.
func (s *Session) Ledger(f LedgerFilter) []LedgerEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.selectCalls(f)
}

// selectCalls adds the handles of the results.
func (s *conversation) selectCalls(f LedgerFilter) []LedgerEntry {
	out := s.ledger.Select(f)
	for i, e := range out {
		if e.Outcome != Unanswered {
			out[i].Handle = s.facts[e.Result.Message].blocks[e.Result.Block].name.String()
		}
	}
	return out
}

// Words returns what people said in the session, their rules and the task list.
func (s *Session) Words() (said []Said, rules []Constraint, tasks TaskState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.words.Said()), slices.Clone(s.st.words.Constraints()), s.st.words.Tasks()
}

// Report says what was folded, why, and how to get it back.
type Report struct {
	Session  string    `json:"session"`
	Messages int       `json:"messages"` // in the transcript
	Epochs   []Epoch   `json:"epochs"`
	Folds    []*Fold   `json:"folds"` // in force
	Snapshot Snapshot  `json:"snapshot"`
	Whole    int       `json:"tokens_whole"` // what the whole transcript would take
	Cache    CacheCost `json:"cache"`        // of the newest epoch
	// Digests tell, oldest first, of every digest that a model was asked for, and what came
	// of it.
	Digests []DigestReport `json:"digests,omitempty"`
}

// Epoch is one opening of an epoch, or its undoing.
type Epoch struct {
	Number  int     `json:"number"`
	Trigger Trigger `json:"trigger"`
	Undo    bool    `json:"undo,omitempty"`
	Focus   string  `json:"focus,omitempty"`
	Folds   int     `json:"folds"` // new ones
	Before  int     `json:"tokens_before"`
	After   int     `json:"tokens_after"`
	Warning string  `json:"warning,omitempty"`
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
	r := Report{Session: s.key.Session, Messages: s.st.t.Len(), Snapshot: s.snapshot(), Epochs: []Epoch{}, Folds: []*Fold{}}
	for _, d := range s.st.history {
		r.Epochs = append(r.Epochs, Epoch{d.Epoch, d.Trigger, d.Undo, d.Focus, len(d.Folds), d.Before, d.After, d.Warning, d.Kept})
		r.Cache = d.Cache
	}
	for _, id := range s.st.inUse.inForce() {
		r.Folds = append(r.Folds, s.st.folds[id-1])
	}
	r.Digests = slices.Clone(s.digests)
	r.Whole = s.st.head.Total() + s.st.whole
	return r
}

// String tells the report to a person.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s messages, %s tokens whole, %s shown (%.0f %% of the window, %s)\n", thousands(r.Messages),
		thousands(r.Whole), thousands(r.Snapshot.Tokens), 100*r.Snapshot.Utilization, r.Snapshot.State)
	for _, e := range r.Epochs {
		what := fmt.Sprintf("epoch %d (%s): %s", e.Number, e.Trigger, plural(e.Folds, "fold"))
		if e.Undo {
			what = fmt.Sprintf("epoch %d undone", e.Number)
		}
		fmt.Fprintf(&b, "%s, %s → %s tokens\n", what, thousands(e.Before), thousands(e.After))
		if len(e.Kept) > 0 {
			fmt.Fprintf(&b, "  kept, because read again after each epoch: %s\n", strings.Join(e.Kept, ", "))
		}
	}
	for _, d := range r.Digests {
		fmt.Fprintln(&b, d)
	}
	for _, f := range r.Folds {
		fmt.Fprintf(&b, "  %-9s %s %s, %s: %s\n", f.Lever, f.Handle, plural(f.Lines, "line"), plural(f.Bytes, "byte"), f.Reason)
	}
	return b.String()
}
