package fold

import (
	"errors"

	"github.com/pleat-dev/pleat/transcript"
)

// Fold is one recorded decision: what is replaced, by what, and why. A session stores a
// fold before it gives out a view that shows it. A stored fold never changes. Of one that it made, a
// lever may change Reason, Final, Digest and By; another change is its error.
type Fold struct {
	ID     int    `json:"id"`     // counted from 1 within the session
	Handle string `json:"handle"` // address of what was folded; see Session.Unfold
	Lever  string `json:"lever"`  // name of the lever that proposed it
	Reason string `json:"reason"` // why, for people

	// The fold replaces messages Start ≤ i < End if Block is negative, else only that
	// block of message Start. If Start equals End, the stub is inserted before Start.
	Start int `json:"start"`
	End   int `json:"end"`
	Block int `json:"block"`

	// Stub stands in for what was folded: a block's new content, or the text of a user
	// message that pleat inserts. Empty: nothing stands for the stretch.
	Stub string `json:"stub"`
	// Own is how many bytes of the stub are a summary in the form of its design: what code puts beside it, anew for
	// each, is for the agent and not for the next summarizer. 0: all of them.
	Own int `json:"own,omitempty"`
	// Ack is an assistant message after the stub, where a policy wants the pair, or a system message
	// that stands behind the stub would come before the user's.
	Ack string `json:"ack,omitempty"`
	// Then is a user message after the acknowledgement, where the conversation would end on it, or an answer
	// would follow it: providers refuse the one, and of the other what begins with a call or lacks its thinking.
	Then string `json:"then,omitempty"`
	// Stands are the messages of the stretch that the view still shows: up to a provider's memory of
	// what came before they stand before the stub, the others behind it.
	Stands []int `json:"stands,omitempty"`
	// Digest marks the folds of an [Asker]: digests of turns.
	Digest bool `json:"digest,omitempty"`
	// By says who wrote the narrative of a page: "model" or "code", or that the agent's "notes" are it. Empty: the
	// stub is no page.
	By string `json:"by,omitempty"`
	// Final marks a fold that more room does not undo: what it replaces is stale, or it was cut
	// for another reason than room. Of other folds that are no pages, a page may say more, and
	// where there is room the results come back: whole, or as a longer stub with their
	// beginning and end.
	Final bool `json:"final,omitempty"`
	// File is where a plain copy of what was folded is written, relative to the session's folder.
	File string `json:"file,omitempty"`

	Before int             `json:"tokens_before"` // tokens of what was folded, as the view showed it
	After  int             `json:"tokens_after"`  // tokens of what stands for it
	Hash   transcript.Hash `json:"sha256"`        // of what Unfold returns
	Bytes  int             `json:"bytes"`         // of what Unfold returns
	Lines  int             `json:"lines"`         // of what Unfold returns
	Parts  Parts           `json:"parts"`         // what After is made of
}

// Whole reports whether the fold replaces whole messages.
func (f *Fold) Whole() bool { return f.Block < 0 }

func (f *Fold) ref() transcript.BlockRef {
	return transcript.BlockRef{Message: f.Start, Block: f.Block}
}

// ErrCannotFit means that no legal view fits the budget. A session returns a *pleat.CannotFitError, which
// says why; only its Undo, which asks for one certain view, returns this error with the size of that.
var ErrCannotFit = errors.New("nothing that may be sent fits")
