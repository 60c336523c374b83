package fold

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Lever names what proposed a fold.
type Lever string

// The levers, cheap first.
const (
	LeverSpill     Lever = "spill"     // a large result, before it is first sent
	LeverSupersede Lever = "supersede" // a result that a later one made stale
	LeverCollapse  Lever = "collapse"  // a closed stretch of rounds, to one line
	LeverMask      Lever = "mask"      // an old result
	LeverSnip      Lever = "snip"      // the middle of a very long conversation
	LeverDigest    Lever = "digest"    // the oldest turns
	LeverSqueeze   Lever = "squeeze"   // whatever it takes to fit
	LeverTruncate  Lever = "truncate"  // the oldest half, without a word (a baseline)
	LeverPin       Lever = "pin"       // nothing: the stub holds pins that no page holds
)

// Fold is one recorded decision: what is replaced, by what, and why. Folds are data.
// They are stored before a view that shows them leaves, and are never changed.
type Fold struct {
	ID     int    `json:"id"`     // counted from 1 within the session
	Handle string `json:"handle"` // address of what was folded; see Session.Unfold
	Lever  Lever  `json:"lever"`
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

	Before int             `json:"tokens_before"`
	After  int             `json:"tokens_after"`
	Hash   transcript.Hash `json:"sha256"` // of what Unfold returns
	Bytes  int             `json:"bytes"`
	Lines  int             `json:"lines"`
	Parts  Parts           `json:"parts"` // what After is made of
}

// whole reports whether the fold replaces whole messages.
func (f *Fold) whole() bool { return f.Block < 0 }

func (f *Fold) ref() transcript.BlockRef {
	return transcript.BlockRef{Message: f.Start, Block: f.Block}
}

// stub is what a folded block's placeholder is made from.
type stub struct {
	tool, args string
	outcome    string // "exit 1", "failed: first error line"
	ok         bool   // it went well, which the arguments make room for: the call still has them
	lines      int
	bytes      int
	handle     string
	recall     func(handle string) string
	note       string // what else is to be said, such as what superseded it
}

// stubTokens is the most a stub may take, its preview aside.
const stubTokens = 60

const saidOK = "It ended: ok. "

// text renders the stub. It says that the call happened and was used, what it was, how
// large the result, how it ended, how to get it back, and that the call must not be
// repeated to see it. There is no clock in it, so that it is the same bytes forever.
func (s stub) text(count func(string) int) string {
	for room := 120; ; room -= 30 {
		var b strings.Builder
		b.WriteString("[folded: ")
		b.WriteString(s.tool)
		if args := text.ClipPath(s.args, room); args != "" {
			b.WriteString(" ")
			b.WriteString(args)
		}
		fmt.Fprintf(&b, ", %s, %s. ", text.Plural(s.lines, "line"), text.Plural(s.bytes, "byte"))
		if out := text.Clip(s.outcome, room); out != "" {
			b.WriteString("It ended: " + out + ". ")
		}
		if s.ok {
			b.WriteString(saidOK)
		}
		if s.note != "" {
			b.WriteString(s.note + ". ")
		}
		b.WriteString("Done and seen; do not repeat it to see it")
		if s.recall != nil && s.handle != "" {
			b.WriteString(": " + s.recall(s.handle))
		}
		b.WriteString("]")
		text := b.String()
		if s.ok && room <= 0 && count(text) > stubTokens {
			text = strings.Replace(text, ". "+saidOK, ". ", 1)
		}
		if room <= 0 || count(text) <= stubTokens {
			return text
		}
	}
}
