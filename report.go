package pleat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
)

// Report says what was folded, why, and how to get it back. All but its snapshot is in pleat's own tokens.
type Report struct {
	Session  string         `json:"session"`
	Messages int            `json:"messages"` // in the transcript
	Epochs   []Epoch        `json:"epochs"`
	Folds    []*fold.Fold   `json:"folds"` // in force
	Snapshot fold.Snapshot  `json:"snapshot"`
	Whole    int            `json:"tokens_whole"` // what the whole transcript would take
	Cache    fold.CacheCost `json:"cache"`        // of the newest epoch
	// Digests tell how each digest came to be, oldest first: by a model, or by code where
	// a model gave no usable answer.
	Digests []digest.Origin `json:"digests,omitempty"`
}

// Epoch is one opening of an epoch, or its undoing.
type Epoch struct {
	Number   int          `json:"number"`            // counted from 1
	Messages int          `json:"messages"`          // length of the transcript when it opened
	Trigger  fold.Trigger `json:"trigger"`           // why it opened
	Undo     bool         `json:"undo,omitempty"`    // it was taken back here
	Focus    string       `json:"focus,omitempty"`   // what mattered most to whoever asked
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
func (s *Session) Report() Report { return held(s, s.reportLocked) }

func (s *Session) reportLocked() Report {
	r := Report{
		Session: s.Key().Session, Messages: s.st.Len(), Snapshot: s.snapshotLocked(), Digests: slices.Clone(s.journal.Digests),
		Whole: s.st.WholeView(), Epochs: []Epoch{}, Folds: []*fold.Fold{},
	}
	for _, d := range s.st.History {
		r.Epochs = append(r.Epochs, Epoch{
			d.Epoch, d.Messages, d.Trigger, d.Undo, d.Focus, len(d.Folds), d.Window,
			d.Before, d.After, d.Warning, d.Kept,
		})
		r.Cache = d.Cache
	}
	for _, id := range s.st.InForce() {
		f := *s.st.Folds[id-1]
		r.Folds = append(r.Folds, &f)
	}
	return r
}

// String prints the report for people, in pleat's tokens throughout.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s messages, %s tokens whole, %s shown (%.0f %% of the window, %s)\n", text.Thousands(r.Messages),
		text.Thousands(r.Whole), text.Thousands(r.Snapshot.Parts.Total()), 100*r.Snapshot.Utilization,
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
