package conv

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// Handle is the address of some content at a place: 8 characters of five bits each, 10 or
// 12 where shorter ones would be ambiguous. The upper four bits are the number of
// characters, so that a session of a million blocks holds a number for each and no text.
// 0 is no handle.
type Handle uint64

// handleText has no letters that are easily taken for others, and no upper case.
const handleText = "0123456789abcdefghjkmnpqrstvwxyz"

const (
	handleLen = 8
	handleMax = 12
)

// String is the handle as stubs name it; empty if there is none.
func (h Handle) String() string {
	var b [handleMax]byte
	n := int(h >> 60)
	for i := n - 1; i >= 0; i-- {
		b[i] = handleText[h&31]
		h >>= 5
	}
	return string(b[:n])
}

// ParseHandle reads what String wrote; it returns 0 if the text is no handle.
func ParseHandle(text string) Handle {
	if len(text) < handleLen || len(text) > handleMax {
		return 0
	}
	h := Handle(0)
	for i := range len(text) {
		c := strings.IndexByte(handleText, text[i])
		if c < 0 {
			return 0
		}
		h = h<<5 | Handle(c)
	}
	return h | Handle(len(text))<<60
}

// handlesFor yields the handles that some content at a place may get, the shortest first,
// without an end. They are the same in every session that shares the conversation up to
// there.
func handlesFor(content transcript.Hash, p transcript.Place) iter.Seq[Handle] {
	var b [len(content) + 24]byte
	copy(b[:], content[:])
	binary.BigEndian.PutUint64(b[len(content):], uint64(p.Start))
	binary.BigEndian.PutUint64(b[len(content)+8:], uint64(p.End))
	binary.BigEndian.PutUint64(b[len(content)+16:], uint64(int64(p.Block)))
	return func(yield func(Handle) bool) {
		sum := sha256.Sum256(b[:])
		for n := handleLen; ; n += 2 {
			if n > handleMax {
				n, sum = handleMax, sha256.Sum256(sum[:])
			}
			bits := binary.BigEndian.Uint64(sum[:])
			if !yield(Handle(bits>>(64-5*n)) | Handle(n)<<60) {
				return
			}
		}
	}
}

// Handles finds places by their handles. Of two places with the same first characters, the
// later one gets a longer handle.
type Handles struct {
	blocks    map[Handle]blockAt
	stretches map[Handle]transcript.Place
}

// blockAt is the place of a block, in half the memory.
type blockAt struct{ message, block uint32 }

// At returns the place that a handle stands for.
func (h *Handles) At(name Handle) (transcript.Place, bool) {
	if b, ok := h.blocks[name]; ok {
		return transcript.Place{Start: int(b.message), End: int(b.message) + 1, Block: int(b.block)}, true
	}
	p, ok := h.stretches[name]
	return p, ok
}

// Name returns the handle that a place has or would get.
func (h *Handles) Name(content transcript.Hash, p transcript.Place) Handle {
	for name := range handlesFor(content, p) {
		if old, taken := h.At(name); !taken || old == p {
			return name
		}
	}
	return 0 // not reached: handlesFor does not end
}

// Add gives a place its handle.
func (h *Handles) Add(content transcript.Hash, p transcript.Place) Handle {
	if h.blocks == nil {
		h.blocks, h.stretches = make(map[Handle]blockAt), make(map[Handle]transcript.Place)
	}
	name := h.Name(content, p)
	if p.Block >= 0 {
		h.blocks[name] = blockAt{uint32(p.Start), uint32(p.Block)}
	} else {
		h.stretches[name] = p
	}
	return name
}

// All yields every handle.
func (h *Handles) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range h.blocks {
			if !yield(name.String()) {
				return
			}
		}
		for name := range h.stretches {
			if !yield(name.String()) {
				return
			}
		}
	}
}

// UnfoldCall is how a stub says to get its content back if the model has the recall tools.
func UnfoldCall(handle string) string { return `unfold("` + handle + `")` }
