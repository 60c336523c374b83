package conv

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"

	"github.com/pleat-dev/pleat/transcript"
)

// handlesFor yields the handles that some content at a place may get, the shortest first,
// without an end. They are the same in every session that shares the conversation up to
// there.
func handlesFor(content transcript.Hash, p transcript.Place) iter.Seq[transcript.Handle] {
	var b [len(content) + 24]byte
	copy(b[:], content[:])
	binary.BigEndian.PutUint64(b[len(content):], uint64(p.Start))
	binary.BigEndian.PutUint64(b[len(content)+8:], uint64(p.End))
	binary.BigEndian.PutUint64(b[len(content)+16:], uint64(int64(p.Block)))
	return func(yield func(transcript.Handle) bool) {
		sum := sha256.Sum256(b[:])
		for n := transcript.HandleLen; ; n += 2 {
			if n > transcript.HandleMax {
				n, sum = transcript.HandleMax, sha256.Sum256(sum[:])
			}
			bits := binary.BigEndian.Uint64(sum[:])
			if !yield(transcript.HandleOf(bits, n)) {
				return
			}
		}
	}
}

// Handles finds places by their handles. Of two places with the same first characters, the
// later one gets a longer handle.
type Handles struct {
	places map[transcript.Handle]transcript.Place
}

// At returns the place that a handle stands for.
func (h *Handles) At(name transcript.Handle) (transcript.Place, bool) {
	p, ok := h.places[name]
	return p, ok
}

// Name returns the handle that a place has or would get.
func (h *Handles) Name(content transcript.Hash, p transcript.Place) transcript.Handle {
	for name := range handlesFor(content, p) {
		if old, taken := h.At(name); !taken || old == p {
			return name
		}
	}
	return 0 // not reached: handlesFor does not end
}

// Add gives a place its handle.
func (h *Handles) Add(content transcript.Hash, p transcript.Place) transcript.Handle {
	if h.places == nil {
		h.places = make(map[transcript.Handle]transcript.Place)
	}
	name := h.Name(content, p)
	h.places[name] = p
	return name
}

// takeOut says that the blocks of message i are gone, or, if it moved to another place, are there.
func (h *Handles) takeOut(i, to int, facts transcript.MessageFacts) {
	for b, bf := range facts.Blocks {
		switch {
		case bf.Handle == 0:
		case to < 0:
			delete(h.places, bf.Handle)
		default:
			h.places[bf.Handle] = transcript.Place{Start: to, End: to + 1, Block: b}
		}
	}
}

// Place returns the place that a handle stands for.
func (c *Conversation) Place(handle string) (transcript.Place, bool) {
	return c.Index.At(transcript.ParseHandle(handle))
}

// MessageAt returns the message that was stored as an entry.
func (c *Conversation) MessageAt(entry uint64) (message int, ok bool) { return c.Contents.Find(entry) }
