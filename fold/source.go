package fold

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Source is a conversation that folds are planned for. What is known of it is in memory; only
// Block and Measure may have to read the store, and may fail.
type Source interface {
	Facts() transcript.Facts                                    // of each message; for reading only
	Rounds() []transcript.Round                                 // in order of their first messages
	Ledger() *ledger.Ledger                                     // what was done
	Said() []userwords.Said                                     // what people said, oldest first
	Tokens() tokens.MessageCounter                              // counts what plans write
	Handle(transcript.Hash, transcript.Place) transcript.Handle // that the content has or would get

	Block(ctx context.Context, ref transcript.BlockRef) (transcript.Block, error)
	// Measure returns the hash and the size of messages start ≤ i < end as unfolding shows
	// them.
	Measure(ctx context.Context, start, end int) (h transcript.Hash, bytes, lines int, err error)
}

// Narrative is a model's digest that passed the gate.
type Narrative struct {
	Start, End int    // messages Start ≤ i < End that it is a digest of
	Focus      string // what it was written for; empty: nothing in particular
	Text       string
	Tokens     int  // of Text
	Old        bool // an epoch has opened since it was written
	Partial    bool // the model has not read all that it stands for
}

// Section returns the digest as a section of a page.
func (n *Narrative) Section() string {
	if n == nil {
		return ""
	}
	const heading = "## Messages %d to %d in short (written by a model; names and numbers checked against them)\n%s"
	return fmt.Sprintf(heading, n.Start+1, n.End, fence.Block("digest", n.Text))
}

// UnfoldCall is how a stub says to get its content back if the model has the recall tools.
func UnfoldCall(handle string) string { return `unfold("` + handle + `")` }
