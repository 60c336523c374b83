package conv

import (
	"crypto/sha256"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Said is what a message says, as far as it tells two messages apart: its role and its
// blocks, thinking and the content of images and of unknown blocks apart.
type Said struct {
	role   transcript.Role
	blocks []spoken
}

type spoken struct {
	kind transcript.Kind
	tool string // of a call
	hash transcript.Hash
}

// SaidIn returns what a message says.
func SaidIn(m transcript.Message) Said {
	out := Said{role: m.Role()}
	for i, s := range ShapesOf(m) {
		if k := m.Blocks().At(i).Kind(); k != transcript.KindThinking {
			out.blocks = append(out.blocks, spoken{k, text.OneLine(s.Name, 80), s.Hash}) // as the ledger names the tool
		}
	}
	return out
}

// Equal reports whether both say the same.
func (s Said) Equal(o Said) bool { return s.role == o.role && slices.Equal(s.blocks, o.blocks) }

// Fingerprint stands for what messages say.
func Fingerprint(said ...Said) transcript.Hash {
	all := sha256.New()
	for _, s := range said {
		h := sha256.New()
		h.Write([]byte(s.role))
		for _, b := range s.blocks {
			h.Write([]byte{0, byte(b.kind)})
			h.Write([]byte(b.tool))
			h.Write(b.hash[:])
		}
		all.Write(h.Sum(nil))
	}
	return transcript.Hash(all.Sum(nil))
}

// Says reports whether message i says that. It reads nothing from the store.
func (c *Conversation) Says(i int, said Said) bool {
	if c.facts[i].Role != said.role {
		return false
	}
	next := 0
	for _, bf := range c.facts[i].Blocks {
		if bf.Kind == transcript.KindThinking {
			continue
		}
		s := spoken{kind: bf.Kind, hash: bf.Hash}
		if bf.Kind == transcript.KindToolCall {
			s.tool = c.ledger.Entry(int(bf.Call)).Tool
		}
		if next == len(said.blocks) || said.blocks[next] != s {
			return false
		}
		next++
	}
	return next == len(said.blocks)
}

// SameIDs reports whether the calls and results of message i have the ids of those in a
// message that says the same.
func (c *Conversation) SameIDs(i int, m transcript.Message) bool { return c.sameIDs(i, m, false) }

// SameOpenIDs is like SameIDs, but only calls at the end that wait for their result count: under
// another id, it would answer none.
func (c *Conversation) SameOpenIDs(i int, m transcript.Message) bool {
	rounds := c.Rounds()
	return len(rounds) == 0 || i < rounds[len(rounds)-1].Start || c.sameIDs(i, m, true)
}

func (c *Conversation) sameIDs(i int, m transcript.Message, open bool) bool {
	own := c.facts[i].Blocks
	for _, b := range m.Blocks().All() {
		var id string
		switch b := b.(type) {
		case transcript.ToolCall:
			id = b.ID
		case transcript.ToolResult:
			id = b.CallID
		}
		if k := b.Kind(); k != transcript.KindToolCall && (open || k != transcript.KindToolResult) {
			continue
		}
		for len(own) > 0 && own[0].Kind != b.Kind() {
			own = own[1:]
		}
		if len(own) == 0 {
			return false
		}
		if s := c.callState(int(own[0].Call)); s.ID != id && !(open && s.Answered) && own[0].Call > 0 {
			return false
		}
		own = own[1:]
	}
	return true
}

// callState returns a call by its number in the ledger; zero: there is none.
func (c *Conversation) callState(n int) transcript.CallState {
	if n == 0 {
		return transcript.CallState{}
	}
	at, rounds := c.ledger.Entries[n-1].Call, c.Rounds()
	k := sort.Search(len(rounds), func(k int) bool { return rounds[k].Start > at.Message }) - 1
	for _, s := range rounds[k].Calls {
		if s.Call == at {
			return s
		}
	}
	return transcript.CallState{}
}
