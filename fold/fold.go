package fold

import (
	"errors"

	"github.com/pleat-dev/pleat/transcript"
)

// Fold is one recorded decision: what is replaced, by what, and why. Folds are data.
// They are stored before a view that shows them leaves, and are never changed.
type Fold struct {
	ID     int    `json:"id"`     // counted from 1 within the session
	Handle string `json:"handle"` // address of what was folded; see Session.Unfold
	Lever  string `json:"lever"`  // name of the lever that proposed it
	Reason string `json:"reason"`

	// Messages Start ≤ i < End are meant: all of them if Block is negative, else only
	// that block of message Start. If there are none the stub stands before Start.
	Start int `json:"start"`
	End   int `json:"end"`
	Block int `json:"block"`

	// Stub stands in for what was folded: a block's new content, or the text of a user
	// message of pleat's own. Empty: the stretch goes without a word, because another
	// fold speaks for it.
	Stub string `json:"stub"`
	// Ack is an assistant message after the stub, where a policy wants the pair.
	Ack string `json:"ack,omitempty"`
	// By says who wrote the narrative of a page: "model" or "code". Empty: it is no page.
	By string `json:"by,omitempty"`
	// File is where a plain copy of it was written, relative to the session's folder.
	File string `json:"file,omitempty"`

	Before int             `json:"tokens_before"`
	After  int             `json:"tokens_after"`
	Hash   transcript.Hash `json:"sha256"` // of what Unfold returns
	Bytes  int             `json:"bytes"`
	Lines  int             `json:"lines"`
	Parts  Parts           `json:"parts"` // what After is made of
}

// IsDigest reports whether the fold is a digest of turns: pleat's, or a model's summary.
func (f *Fold) IsDigest() bool { return f.Lever == "digest" || f.Lever == "summarize" }

// whole reports whether the fold replaces whole messages.
func (f *Fold) whole() bool { return f.Block < 0 }

func (f *Fold) ref() transcript.BlockRef {
	return transcript.BlockRef{Message: f.Start, Block: f.Block}
}

// ErrCannotFit: no legal view fits the budget. The error is a *CannotFitError.
var ErrCannotFit = errors.New("nothing that may be sent fits")
