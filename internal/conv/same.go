package conv

import (
	"crypto/sha256"

	"github.com/pleat-dev/pleat/transcript"
)

// Fingerprint stands for what a message says: its role and the content of its blocks.
// Thinking does not count, and neither does the content of images and of blocks that pleat
// does not know.
func Fingerprint(m transcript.Message) transcript.Hash {
	h := sha256.New()
	h.Write([]byte(m.Role()))
	for _, s := range ShapesOf(m) {
		if s.Kind != transcript.KindThinking.String() {
			h.Write([]byte{0})
			h.Write([]byte(s.Kind))
			h.Write(s.Hash[:])
		}
	}
	return transcript.Hash(h.Sum(nil))
}

// Same reports whether message i says what m says, as [Fingerprint] sees it. It reads
// nothing from the store.
func (c *Conversation) Same(i int, m transcript.Message) bool {
	f := &c.Facts[i]
	if f.Role != m.Role() {
		return false
	}
	b := 0
	next := func() *BlockFacts {
		for b < len(f.Blocks) && f.Blocks[b].Kind == transcript.KindThinking {
			b++
		}
		if b == len(f.Blocks) {
			return nil
		}
		b++
		return &f.Blocks[b-1]
	}
	for _, s := range ShapesOf(m) {
		if s.Kind == transcript.KindThinking.String() {
			continue
		}
		if bf := next(); bf == nil || bf.Kind.String() != s.Kind || bf.Hash != s.Hash {
			return false
		}
	}
	return next() == nil
}
