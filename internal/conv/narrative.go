package conv

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
)

// Narrative is a model's digest that passed the gate.
type Narrative struct {
	Start, End int    // messages Start ≤ i < End that it is a digest of
	Focus      string // what it was written for; empty: nothing in particular
	Text       string
	Tokens     int
	Source     transcript.Hash // of these messages, see SourceHash
	Seq        uint64          // number of its entry
}

// SmallPage is the number of tokens below which a page is small: it spends next to nothing on
// restored files, because one call reads a file, but nothing brings back in so few tokens
// what was said and changed.
const SmallPage = 6_000

// SourceHash identifies messages start ≤ i < end: a digest is used only for the messages
// that it was written for.
func (c *Conversation) SourceHash(start, end int) transcript.Hash {
	h := sha256.New()
	var n [8]byte
	for i := start; i < end; i++ {
		f := &c.Facts[i]
		binary.LittleEndian.PutUint32(n[:4], uint32(len(f.Blocks)))
		binary.LittleEndian.PutUint32(n[4:], uint32(len(f.Role)))
		h.Write(n[:])
		h.Write([]byte(f.Role))
		for b := range f.Blocks {
			h.Write([]byte{byte(f.Blocks[b].Kind)})
			h.Write(f.Blocks[b].Hash[:])
		}
	}
	return transcript.Hash(h.Sum(nil))
}

// Section returns the digest as a section of a page.
func (n *Narrative) Section() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("## Messages %d to %d in short (written by a model; names and numbers checked against them)\n%s", n.Start+1, n.End, n.Text)
}
