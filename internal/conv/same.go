package conv

import (
	"crypto/sha256"
	"slices"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// spoken is a block as far as it tells two messages apart.
type spoken struct {
	kind transcript.Kind
	tool string // of a call
	hash transcript.Hash
}

// spokenIn lists the blocks of a message. Thinking does not count, and neither does the
// content of images and of blocks that pleat does not know.
func spokenIn(m transcript.Message) []spoken {
	var out []spoken
	for i, s := range ShapesOf(m) {
		if k := m.Blocks().At(i).Kind(); k != transcript.KindThinking {
			out = append(out, spoken{k, text.OneLine(s.Name, 80), s.Hash}) // as the ledger names the tool
		}
	}
	return out
}

// Fingerprint stands for what a message says: its role and its blocks, as [Conversation.Same]
// compares them.
func Fingerprint(m transcript.Message) transcript.Hash {
	h := sha256.New()
	h.Write([]byte(m.Role()))
	for _, s := range spokenIn(m) {
		h.Write([]byte{0, byte(s.kind)})
		h.Write([]byte(s.tool))
		h.Write(s.hash[:])
	}
	return transcript.Hash(h.Sum(nil))
}

// Same reports whether message i says what m says: the same role and blocks, thinking and
// the content of images apart. It reads nothing from the store.
func (c *Conversation) Same(i int, m transcript.Message) bool {
	var known []spoken
	for _, bf := range c.facts[i].Blocks {
		if bf.Kind == transcript.KindThinking {
			continue
		}
		s := spoken{kind: bf.Kind, hash: bf.Hash}
		if bf.Kind == transcript.KindToolCall {
			s.tool = c.ledger.Entry(int(bf.Call)).Tool
		}
		known = append(known, s)
	}
	return c.facts[i].Role == m.Role() && slices.Equal(known, spokenIn(m))
}
