package transcript

import (
	"slices"
	"strings"
)

// Facts is what is known of a conversation's messages without reading them again. It is for
// reading only: whoever keeps the conversation adds to it.
type Facts []MessageFacts

// MessageFacts is what is known of a message.
type MessageFacts struct {
	Blocks []BlockFacts
	Role   Role
	Extra  uint32 // tokens of the message beyond those of its blocks
	Origin Origin
	Typed  bool // it has text that a person typed
	Stands bool // it holds for the turns after it, and no folded stretch hides it
	Tied   bool // it has to stay with the message before it: no cut comes between them
}

// BlockFacts is what is known of a block. There is one for every block of a session, so its
// numbers take 32 bits: a block has less than 4 GB.
type BlockFacts struct {
	Hash   Hash   // of its text, as unfolding shows it
	Handle Handle // 0: it has none
	Tokens uint32
	Chars  uint32
	Bytes  uint32
	Lines  uint32
	Call   uint32 // calls and results: number of the ledger's entry, 0 if there is none
	Kind   Kind
	Fixed  bool // never folded: see docs/design.md, "What is never folded"
	Stays  bool // thinking that is left out only with its message, or with a later one that needs it
	Empty  bool // a result without content, so that no stub can be shorter
	Text   bool // a call that takes text, and no JSON object
	Typed  bool // a text that a person typed, at least in part
	Mixed  bool // the other part of it is a program's
}

// Block returns the facts of a block.
func (f Facts) Block(ref BlockRef) *BlockFacts { return &f[ref.Message].Blocks[ref.Block] }

// Tokens counts messages start ≤ i < end as they came.
func (f Facts) Tokens(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		n += int(f[i].Extra)
		for b := range f[i].Blocks {
			n += int(f[i].Blocks[b].Tokens)
		}
	}
	return n
}

// System reports whether message i is a system or developer message.
func (f Facts) System(i int) bool { return f[i].Role == RoleSystem || f[i].Role == RoleDeveloper }

// Prompt returns the number of system and developer messages at the beginning: on some
// wires they are the system prompt.
func (f Facts) Prompt() int {
	for i := range f {
		if !f.System(i) {
			return i
		}
	}
	return len(f)
}

// Opening returns the number of messages before the first answer.
func (f Facts) Opening() int {
	for i := range f {
		if f[i].Role == RoleAssistant {
			return i
		}
	}
	return len(f)
}

// Has reports whether message i has a block of the kind.
func (f Facts) Has(i int, kind Kind) bool {
	return slices.ContainsFunc(f[i].Blocks, func(b BlockFacts) bool { return b.Kind == kind })
}

// Blank returns a message with as many empty blocks as message i has: what code gets that goes
// on although the message could not be read.
func (f Facts) Blank(i int) Message {
	blocks := make([]Block, len(f[i].Blocks))
	for b := range blocks {
		blocks[b] = Say("")
	}
	return NewMessage(f[i].Role, blocks...)
}

// Longest returns the handle of the longest block of message i that has one, "" if none has.
// What a person typed is mostly a single block.
func (f Facts) Longest(i int) string {
	best := -1
	for b, bf := range f[i].Blocks {
		if bf.Handle != 0 && (best < 0 || bf.Bytes > f[i].Blocks[best].Bytes) {
			best = b
		}
	}
	if best < 0 {
		return ""
	}
	return f[i].Blocks[best].Handle.String()
}

// Handle is the address of some content at a place: 8 characters of five bits each, 10 or
// 12 where shorter ones would be ambiguous. The upper four bits are the number of
// characters, so that a session of a million blocks holds a number for each and no text.
// 0 is no handle.
type Handle uint64

// handleText has no letters that are easily taken for others, and no upper case.
const handleText = "0123456789abcdefghjkmnpqrstvwxyz"

// The lengths of handles in characters: the usual one, and the longest.
const (
	HandleLen = 8
	HandleMax = 12
)

// HandleOf makes a handle of the given length from the upper bits of a number.
func HandleOf(bits uint64, length int) Handle {
	return Handle(bits>>(64-5*length)) | Handle(length)<<60
}

// String returns the handle as stubs name it; empty if there is none.
func (h Handle) String() string {
	var b [HandleMax]byte
	n := int(h >> 60)
	for i := n - 1; i >= 0; i-- {
		b[i] = handleText[h&31]
		h >>= 5
	}
	return string(b[:n])
}

// ParseHandle reads what String wrote; it returns 0 if the text is no handle.
func ParseHandle(text string) Handle {
	if len(text) < HandleLen || len(text) > HandleMax {
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
