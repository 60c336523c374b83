package bpe

import (
	_ "embed" // for the vocabulary
	"sync"
	"unsafe"
)

//go:generate go run -C ../../tools/vocabulary .

//go:embed vocab/o200k_base.bin
var packedO200k string

// O200k returns the encoding o200k_base. The first call loads it.
func O200k() *Encoding { return loadO200k() }

var loadO200k = sync.OnceValue(func() *Encoding {
	return &Encoding{
		classes: loadClasses(),
		vocab:   newVocabulary(packedO200k),
		memory:  sync.Pool{New: func() any { return new(scratch) }},
	}
})

// An Encoding turns text into tokens. It is safe for concurrent use.
type Encoding struct {
	classes *classTable
	vocab   *vocabulary
	memory  sync.Pool // of *scratch
}

// Count returns the number of tokens in text.
func (e *Encoding) Count(text string) int {
	s, b := e.memory.Get().(*scratch), bytesOf(text)
	tokens := 0
	for i := 0; i < len(b); {
		j := split(e.classes, b, i)
		tokens += s.count(e.vocab, b, i, j)
		i = j
	}
	e.memory.Put(s)
	return tokens
}

// A scratch is the memory that merging needs.
type scratch struct {
	cache countCache
	parts scanParts
	long  heapMerge
}

// bytesOf returns the bytes of a string without a copy. They must not be written.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// A countCache remembers how many tokens a piece has. It stands before the
// vocabulary for two reasons. A text repeats its names and identifiers, and
// merging these is by far the dearest step. And the few thousand pieces that make
// up most of a text fit into the processor's own cache here, while the vocabulary
// does not.
//
// It is exact, since an entry holds the piece itself, and direct-mapped: a new
// piece replaces the one in its slot.
type countCache [1 << cacheBits]cachedCount

const (
	cacheBits  = 14
	cacheLimit = 16 // the longest piece that is remembered
)

// A cachedCount holds a piece padded with zero bytes. The size is 0 in an entry
// never used.
type cachedCount struct {
	low, high   uint64
	size, count uint32
}

// count returns the number of tokens in the piece b[i:j].
func (s *scratch) count(v *vocabulary, b []byte, i, j int) int {
	size := j - i
	if size > cacheLimit {
		return s.countUncached(v, b, i, j)
	}
	low, high := loadUpTo8(b, i, min(size, 8)), uint64(0)
	if size > 8 {
		high = loadUpTo8(b, i+8, size-8)
	}
	e := &s.cache[(low*multiplier1^high*multiplier2)>>(64-cacheBits)]
	if e.low != low || e.high != high || e.size != uint32(size) {
		*e = cachedCount{low, high, uint32(size), uint32(s.countUncached(v, b, i, j))}
	}
	return int(e.count)
}

func (s *scratch) countUncached(v *vocabulary, b []byte, i, j int) int {
	if v.rank(b, i, j) != noRank {
		return 1
	}
	if suitsScan(b, i, j) {
		return v.mergeScan(&s.parts, b, i, j)
	}
	tokens := 0
	for ; i < j; i += maxMerged {
		s.long.merge(v, b, i, min(i+maxMerged, j))
		tokens += s.long.count()
	}
	return tokens
}

// maxMerged is how many bytes of a piece are merged together, so that the memory for it is bounded. Only a text
// with so long a run of letters, or of signs, has a border there that the encoding does not have.
const maxMerged = 32 << 10
