package bpe

import (
	"encoding/binary"
	"math/bits"
)

// noRank is the rank of a byte string that is no token. It is higher than any
// rank, so that "the lowest rank" needs no special case.
const noRank = ^uint32(0)

// A vocabulary maps byte strings to ranks. The rank of a token is also its id.
//
// The table is open addressed and at most two thirds full. Most questions that merging
// asks are answered no, and the table is larger than the processor's cache; a filter that
// is not answers most of them.
type vocabulary struct {
	packed  string   // for each token in order of rank: its length, its bytes
	offsets []uint32 // where the bytes of each token start in packed

	pairs *[1 << 16]uint32 // ranks of the tokens of two bytes
	slots []slot           // their number is a power of two
	shift uint8            // a key starts its search at the top bits of its hash

	absent  filter // asked before slots
	longest int    // length of the longest token
}

// A slot holds a token's first eight bytes, which are all that most of them have. The size
// tells tokens apart that end in zero bytes; it is 0 in a free slot.
type slot struct {
	word uint64
	rank uint32
	size uint32
}

// A filter has a bit for each of a million hashes. A bit that is clear tells that
// no token has such a hash.
type filter [1 << 20 / 64]uint64

func (f *filter) add(h uint64)        { f[h>>6%uint64(len(f))] |= 1 << (h & 63) }
func (f *filter) lacks(h uint64) bool { return f[h>>6%uint64(len(f))]>>(h&63)&1 == 0 }

// newVocabulary builds the table from the embedded form.
func newVocabulary(packed string) *vocabulary {
	v := &vocabulary{packed: packed, pairs: new([1 << 16]uint32)}
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	for at := 0; at < len(packed); {
		size := int(packed[at])
		if size == 2 {
			v.pairs[pairIndex(bytesOf(packed), at+1)] = uint32(len(v.offsets))
		}
		v.offsets = append(v.offsets, uint32(at+1))
		v.longest = max(v.longest, size)
		at += 1 + size
	}
	width := bits.Len(uint(len(v.offsets) + len(v.offsets)/2))
	v.slots, v.shift = make([]slot, 1<<width), uint8(64-width)
	for rank := range uint32(len(v.offsets)) {
		token := bytesOf(v.token(rank))
		word, h := hashOf(token, 0, len(token))
		v.absent.add(h)
		at := h >> v.shift
		for v.slots[at].size != 0 {
			at = (at + 1) % uint64(len(v.slots))
		}
		v.slots[at] = slot{word, rank, uint32(len(token))}
	}
	return v
}

// token returns the bytes of the token with the given rank.
func (v *vocabulary) token(rank uint32) string {
	at := v.offsets[rank]
	return v.packed[at : at+uint32(v.packed[at-1])]
}

// rank returns the rank of b[i:j], or noRank. It is the innermost operation of
// the package. It takes the whole text and not the piece alone so that a short
// key can be loaded as eight bytes and then cut.
func (v *vocabulary) rank(b []byte, i, j int) uint32 {
	if j-i > v.longest {
		return noRank
	}
	word, h := hashOf(b, i, j)
	if v.absent.lacks(h) {
		return noRank
	}
	mask := uint64(len(v.slots) - 1)
	for at := h >> v.shift; ; at++ {
		s := &v.slots[at&mask]
		if s.word == word && s.size == uint32(j-i) && (j-i <= 8 || v.token(s.rank) == string(b[i:j])) {
			return s.rank
		}
		if s.size == 0 {
			return noRank
		}
	}
}

// pairIndex is the place of the two bytes at b[i:] in the table of pairs.
func pairIndex(b []byte, i int) uint16 {
	return binary.LittleEndian.Uint16(b[i:])
}

func load8(b []byte, i int) uint64 {
	return binary.LittleEndian.Uint64(b[i:])
}

// loadUpTo8 returns the size bytes at b[i:] as a word padded with zero bytes, for
// sizes 1 to 8.
func loadUpTo8(b []byte, i, size int) uint64 {
	if i+8 <= len(b) {
		return load8(b, i) & (^uint64(0) >> (uint(64-8*size) & 63))
	}
	var word uint64
	for k := size - 1; k >= 0; k-- {
		word = word<<8 | uint64(b[i+k])
	}
	return word
}

// The multipliers are odd and otherwise arbitrary. Folding the two halves of the
// product makes every bit of the key reach the top bits of the hash.
const (
	multiplier1 = 0x9E3779B97F4A7C15
	multiplier2 = 0xD6E8FEB86659FD93
)

// hashOf returns the first eight bytes of b[i:j], and the hash of all. Of more than eight the
// last word overlaps the one before.
func hashOf(b []byte, i, j int) (word, h uint64) {
	word = loadUpTo8(b, i, min(j-i, 8))
	h = fold(multiplier2, word)
	for i += 8; i < j; i += 8 {
		h = fold(h, load8(b, min(i, j-8)))
	}
	return word, h
}

func fold(h, word uint64) uint64 {
	high, low := bits.Mul64(h, word^multiplier1)
	return (high ^ low) * multiplier1
}
