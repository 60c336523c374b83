package bpe

import (
	_ "embed" // for the vocabulary
	"sync"
	"unsafe"
)

//go:generate env GOWORK=off go run -C gen . -out ../vocab

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
	e.release(s)
	return tokens
}

// release gives scratch memory back for the next caller, unless a strange text
// has made it large.
func (e *Encoding) release(s *scratch) {
	if cap(s.long.heap.next) <= 4*windowSize {
		e.memory.Put(s)
	}
}

// A scratch is the memory that merging needs.
type scratch struct {
	cache countCache
	parts scanParts
	long  windowMerge
}

// bytesOf returns the bytes of a string without a copy. They must not be written.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
