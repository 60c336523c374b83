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
// Three hash tables share the tokens by length, because the shape of the key
// decides the cost. Up to eight bytes are one machine word and up to sixteen are
// two, which are compared as such; only the few longer tokens are compared byte
// by byte. All tables are open addressed and at most two thirds full.
//
// Most questions that merging asks are answered no, and the tables are larger
// than the processor's cache; a filter that is not answers most of them.
type vocabulary struct {
	packed  string   // for each token in order of rank: its length, its bytes
	offsets []uint32 // where the bytes of each token start in packed

	pairs  *[1 << 16]uint32 // ranks of the tokens of two bytes
	short  table[shortEntry]
	medium table[mediumEntry]
	long   table[longEntry]

	absent  filter // asked before short and medium
	longest int    // length of the longest token
}

type (
	// A shortEntry holds a token of one to eight bytes. The size tells tokens
	// apart that end in zero bytes; it is 0 in a free slot.
	shortEntry struct {
		word uint64
		rank uint32
		size uint32
	}
	// A mediumEntry holds a token of nine to sixteen bytes as its first eight
	// bytes and its last eight, which may overlap.
	mediumEntry struct {
		first, last uint64
		rank        uint32
		size        uint32
	}
	// A longEntry refers to a token by rank plus one. The tag is the upper half
	// of its hash and spares most comparisons.
	longEntry struct {
		tag     uint32
		rankOne uint32
	}
)

// A table is the slots of an open-addressed hash table; their number is a power
// of two. A key starts its search at the top bits of its hash.
type table[E comparable] struct {
	slots []E
	shift uint8
}

func newTable[E comparable](entries int) table[E] {
	width := bits.Len(uint(entries + entries/2))
	return table[E]{make([]E, 1<<width), uint8(64 - width)}
}

// add puts an entry into the first free slot from where its search starts. The zero entry
// is a free slot.
func (t *table[E]) add(h uint64, e E) {
	var free E
	i := h >> t.shift
	for t.slots[i] != free {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = e
}

// A filter has a bit for each of a million hashes. A bit that is clear tells that
// no token has such a hash.
type filter [1 << 20 / 64]uint64

func (f *filter) add(h uint64)        { f[h>>6%uint64(len(f))] |= 1 << (h & 63) }
func (f *filter) lacks(h uint64) bool { return f[h>>6%uint64(len(f))]>>(h&63)&1 == 0 }

// newVocabulary builds the tables from the embedded form.
func newVocabulary(packed string) *vocabulary {
	v := &vocabulary{packed: packed, pairs: new([1 << 16]uint32)}
	var short, medium, long int
	for at := 0; at < len(packed); {
		size := int(packed[at])
		v.offsets = append(v.offsets, uint32(at+1))
		v.longest = max(v.longest, size)
		switch {
		case size <= 8:
			short++
		case size <= 16:
			medium++
		default:
			long++
		}
		at += 1 + size
	}
	v.short = newTable[shortEntry](short)
	v.medium = newTable[mediumEntry](medium)
	v.long = newTable[longEntry](long)
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	for rank := range v.offsets {
		v.insert(uint32(rank))
	}
	return v
}

// token returns the bytes of the token with the given rank.
func (v *vocabulary) token(rank uint32) string {
	at := v.offsets[rank]
	return v.packed[at : at+uint32(v.packed[at-1])]
}

func (v *vocabulary) insert(rank uint32) {
	token := bytesOf(v.token(rank))
	size := len(token)
	if size == 2 {
		v.pairs[pairIndex(token, 0)] = rank
	}
	switch {
	case size <= 8:
		word := loadUpTo8(token, 0, size)
		h := hash1(word)
		v.absent.add(h)
		v.short.add(h, shortEntry{word, rank, uint32(size)})
	case size <= 16:
		first, last := load8(token, 0), load8(token, size-8)
		h := hash2(first, last)
		v.absent.add(h)
		v.medium.add(h, mediumEntry{first, last, rank, uint32(size)})
	default:
		h := hashLong(token)
		v.long.add(h, longEntry{uint32(h), rank + 1})
	}
}

// rank returns the rank of b[i:j], or noRank. It is the innermost operation of
// the package. It takes the whole text and not the piece alone so that a short
// key can be loaded as eight bytes and then cut.
func (v *vocabulary) rank(b []byte, i, j int) uint32 {
	size := j - i
	if size > 8 {
		return v.rankBeyond8(b, i, j)
	}
	word := loadUpTo8(b, i, size)
	h := hash1(word)
	if v.absent.lacks(h) {
		return noRank
	}
	slots := v.short.slots
	mask := uint64(len(slots) - 1)
	for at := h >> v.short.shift; ; at++ {
		e := &slots[at&mask]
		if e.word == word && e.size == uint32(size) {
			return e.rank
		}
		if e.size == 0 {
			return noRank
		}
	}
}

func (v *vocabulary) rankBeyond8(b []byte, i, j int) uint32 {
	size := j - i
	if size > 16 {
		return v.rankBeyond16(b[i:j])
	}
	first, last := load8(b, i), load8(b, j-8)
	h := hash2(first, last)
	if v.absent.lacks(h) {
		return noRank
	}
	slots := v.medium.slots
	mask := uint64(len(slots) - 1)
	for at := h >> v.medium.shift; ; at++ {
		e := &slots[at&mask]
		if e.first == first && e.last == last && e.size == uint32(size) {
			return e.rank
		}
		if e.size == 0 {
			return noRank
		}
	}
}

func (v *vocabulary) rankBeyond16(key []byte) uint32 {
	if len(key) > v.longest {
		return noRank
	}
	h := hashLong(key)
	slots := v.long.slots
	mask := uint64(len(slots) - 1)
	for at := h >> v.long.shift; ; at++ {
		e := &slots[at&mask]
		if e.rankOne == 0 {
			return noRank
		}
		if e.tag == uint32(h) && v.token(e.rankOne-1) == string(key) {
			return e.rankOne - 1
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

func hash1(word uint64) uint64 {
	high, low := bits.Mul64(word, multiplier1)
	return (high ^ low) * multiplier2
}

func hash2(first, last uint64) uint64 {
	high, low := bits.Mul64(first^multiplier2, last^multiplier1)
	return (high ^ low) * multiplier1
}

// hashLong hashes more than eight bytes, the last word overlapping the one before.
func hashLong(key []byte) uint64 {
	h := uint64(len(key))
	for i := 0; i+8 < len(key); i += 8 {
		h = hash2(h, load8(key, i))
	}
	return hash2(h, load8(key, len(key)-8))
}
