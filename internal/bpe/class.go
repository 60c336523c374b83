package bpe

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class says which of the sets named in the split patterns a character belongs
// to. The sets overlap, hence bits: a modifier letter may stand in the upper-case
// and in the lower-case part of a word, and so may a mark, which is no letter.
type class uint8

const (
	headCase class = 1 << iota // \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}
	tailCase                   // \p{Ll} \p{Lm} \p{Lo} \p{M}
	letter                     // \p{L}
	number                     // \p{N}
	space                      // \s
	newline                    // [\r\n], which are also space

	// symbol is the class of all the rest: punctuation, controls, unassigned
	// characters, bytes that are not UTF-8.
	symbol class = 0
)

// startsWord reports whether the character may stand before the letters of a
// word and belong to it: [^\r\n\p{L}\p{N}].
func (c class) startsWord() bool { return c&(letter|number|newline) == 0 }

// isSymbol reports whether the character is in [^\s\p{L}\p{N}]. Marks are.
func (c class) isSymbol() bool { return c&(letter|number|space) == 0 }

// A classTable holds the class of every character. It is flat because a second
// stage would cost a dependent load per character to save a megabyte.
type classTable [unicode.MaxRune + 1]class

var loadClasses = sync.OnceValue(func() *classTable {
	t := new(classTable)
	for _, set := range []struct {
		table *unicode.RangeTable
		class class
	}{
		{unicode.Lu, headCase | letter},
		{unicode.Lt, headCase | letter},
		{unicode.Ll, tailCase | letter},
		{unicode.Lm, headCase | tailCase | letter},
		{unicode.Lo, headCase | tailCase | letter},
		{unicode.M, headCase | tailCase},
		{unicode.N, number},
		{unicode.White_Space, space},
	} {
		t.add(set.table, set.class)
	}
	t['\r'] |= newline
	t['\n'] |= newline
	return t
})

func (t *classTable) add(table *unicode.RangeTable, c class) {
	for _, r := range table.R16 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			t[x] |= c
		}
	}
	for _, r := range table.R32 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			t[x] |= c
		}
	}
}

// at returns the class of the character at b[i:] and its length in bytes. At the
// end of the text the length is 0, and the class is one that ends every run of
// letters, numbers or symbols.
func (t *classTable) at(b []byte, i int) (class, int) {
	if i >= len(b) {
		return space | newline, 0
	}
	if b[i] < utf8.RuneSelf {
		return t[b[i]], 1
	}
	return t.atMultibyte(b, i)
}

// atMultibyte is at for a byte that is not ASCII.
func (t *classTable) atMultibyte(b []byte, i int) (class, int) {
	r, size := utf8.DecodeRune(b[i:])
	if r == utf8.RuneError && size <= 1 {
		return symbol, 1
	}
	return t[r], size
}
