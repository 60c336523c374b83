// Package search is what the searches of all stores have in common: [Words] splits texts
// and queries, [Windows] cuts texts into the pieces that are ranked, and [BM25] ranks them.
// Stores write the words into their indexes, so a change of [Words] is a change of format.
package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/text"
)

// Bounds that keep encoded data (base64, minified code, long digests) from filling a
// search index. Text and query are cut in the same way, so a cut word is still found.
const (
	maxWord   = 64  // bytes of one word; a longer one is known by its beginning
	opaqueRun = 256 // bytes of base64 letters in one piece from which on they are data
)

// Words yields the words that a text is found by, in lower case. It is made for code
// and logs: a name is found whole and by its parts, so that what was written as
// parseHTTPRequest is found by "http request", and internal/store/blob_test.go by
// "blob_test.go", "blob_test" or "blob".
//
//   - Names of letters, digits, "_", "-" and "." come whole, unless they are too long,
//     then by what is between the dots, then by what is between "_" and "-", then by
//     CamelCase.
//   - Everything else separates: a path gives its elements, file.go:12 a name and a
//     number.
//   - Numbers and versions such as 1.2.3 are not taken apart, and a part that is a
//     hexadecimal digest is not split by CamelCase.
//   - Scripts without spaces between words come as single characters and as pairs.
//   - A long run of base64 is one word, and no word has more than 64 bytes.
//
// Every word w is among Words(w). A text has at most a few words per byte.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s := wordSplitter{yield: yield}
		s.split(text)
	}
}

// wordSplitter carries the yield function and whether it wants no more.
type wordSplitter struct {
	yield   func(string) bool
	stopped bool
}

func (s *wordSplitter) split(text string) {
	opaqueFrom := 0 // no opaque run begins before this
	for i := 0; i < len(text) && !s.stopped; {
		r, n := decode(text[i:])
		switch {
		case !isWordRune(r):
			i += n
		case isUnspaced(r):
			i += s.unspaced(text[i:])
		default:
			if i >= opaqueFrom {
				run := base64Run(text[i:])
				opaqueFrom = i + run
				if run >= opaqueRun && isMixed(text[i:i+run]) {
					s.word(leading(text[i : i+run]))
					i += run
					continue
				}
			}
			end := nameEnd(text, i)
			s.name(text[i:end])
			i = end
		}
	}
}

func nameEnd(text string, i int) int {
	for i < len(text) {
		if ascii[text[i]]&inName != 0 {
			i++
			continue
		}
		r, n := decode(text[i:])
		if r < utf8.RuneSelf || !isWordRune(r) || isUnspaced(r) {
			break
		}
		i += n
	}
	return i
}

func (s *wordSplitter) name(name string) {
	name = strings.Trim(name, "._-")
	if name == "" {
		return
	}
	compound := strings.ContainsAny(name, "._-")
	if !compound || len(name) <= maxWord {
		s.word(name)
	}
	if text.IsNumber(name) {
		return
	}
	for piece := range strings.SplitSeq(name, ".") {
		piece = strings.Trim(piece, "_-")
		if piece == "" {
			continue
		}
		inner := strings.ContainsAny(piece, "_-")
		if len(piece) < len(name) && (!inner || len(piece) <= maxWord) {
			s.word(piece)
		}
		s.identifier(piece, inner)
		if s.stopped {
			return
		}
	}
}

// identifier emits the parts of an identifier that was emitted itself.
func (s *wordSplitter) identifier(id string, inner bool) {
	for part := range strings.FieldsFuncSeq(id, func(r rune) bool { return r == '_' || r == '-' }) {
		if inner {
			s.word(part)
		}
		s.camel(part)
		if s.stopped {
			return
		}
	}
}

// camel emits the parts of a CamelCase word, if it has any. Letters that change case
// at random are data, not names.
func (s *wordSplitter) camel(word string) {
	if len(word) > maxWord || text.IsHex(word) {
		return
	}
	parts := 0
	for i := 0; i < len(word); parts++ {
		i += humpEnd(word[i:])
	}
	if parts < 2 || len(word) >= 16 && parts*3 > len(word) {
		return
	}
	for word != "" && !s.stopped {
		n := humpEnd(word)
		s.word(word[:n])
		word = word[n:]
	}
}

// humpEnd finds the end of the first part of a CamelCase word: fooBar, HTTPServer,
// sha256Sum, listURLs.
func humpEnd(word string) int {
	prev, n := decode(word)
	for i := n; i < len(word); {
		r, n := decode(word[i:])
		if unicode.IsUpper(r) {
			if !unicode.IsUpper(prev) {
				return i
			}
			rest := word[i+n:]
			next, m := decode(rest)
			after, _ := decode(rest[m:])
			plural := next == 's' && !unicode.IsLower(after)
			if rest != "" && unicode.IsLower(next) && !plural {
				return i
			}
		}
		prev = r
		i += n
	}
	return len(word)
}

// unspaced emits the characters and pairs of a run of a script that has no spaces
// between words, and returns the length of the run.
func (s *wordSplitter) unspaced(text string) int {
	i := 0
	for i < len(text) {
		r, n := decode(text[i:])
		if !isUnspaced(r) {
			break
		}
		s.word(text[i : i+n])
		if next, m := decode(text[i+n:]); isUnspaced(next) {
			s.word(text[i : i+n+m])
		}
		i += n
	}
	return i
}

// word emits one word in lower case, cut to its bound. A word that is in lower case
// already is not copied.
func (s *wordSplitter) word(w string) {
	if s.stopped || w == "" {
		return
	}
	plain := len(w) <= maxWord
	for i := 0; i < len(w) && plain; i++ {
		plain = w[i] < utf8.RuneSelf && (w[i] < 'A' || w[i] > 'Z')
	}
	if !plain {
		var buf [maxWord + utf8.UTFMax]byte
		low := buf[:0]
		for _, r := range w {
			low = utf8.AppendRune(low, unicode.ToLower(r))
			if len(low) > maxWord {
				low = low[:len(low)-utf8.RuneLen(unicode.ToLower(r))]
				break
			}
		}
		if w = strings.TrimRight(string(low), "._-"); w == "" {
			return
		}
	}
	s.stopped = !s.yield(w)
}

// decode is utf8.DecodeRuneInString where a broken byte is a separator.
func decode(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return 0, n
	}
	return r, n
}

// What the ASCII characters are, in one lookup: this is what indexing spends its time on.
const (
	inWord   = 1 << iota // letters, digits, _
	inName               // those, . and -
	inBase64             // what either form of base64 uses
)

var ascii = func() (class [256]uint8) {
	for c := range utf8.RuneSelf {
		switch r := rune(c); {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			class[c] = inWord | inName | inBase64
		case r == '-':
			class[c] = inName | inBase64
		case r == '.':
			class[c] = inName
		case strings.ContainsRune("+/=", r):
			class[c] = inBase64
		}
	}
	return class
}()

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return ascii[r]&inWord != 0
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// isUnspaced reports whether r belongs to a script that is written without spaces, or
// whose words change too much to be found whole: Thai to Khmer, Chinese, Japanese,
// Korean.
func isUnspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	switch {
	case r <= 0x0EFF, // Thai, Lao
		0x1000 <= r && r <= 0x109F,   // Myanmar
		0x1100 <= r && r <= 0x11FF,   // Hangul Jamo
		0x1780 <= r && r <= 0x17FF,   // Khmer
		0x3005 <= r && r <= 0x3007,   // ideographic iteration mark and zero
		0x3040 <= r && r <= 0x31FF,   // Kana, Bopomofo
		0x3400 <= r && r <= 0x9FFF,   // Han
		0xAC00 <= r && r <= 0xD7FF,   // Hangul
		0xF900 <= r && r <= 0xFAFF,   // Han, compatibility
		0xFF66 <= r && r <= 0xFFDC,   // Kana and Hangul, half width
		0x20000 <= r && r <= 0x3FFFF: // Han, extensions
		return isWordRune(r)
	}
	return false
}

// base64Run counts the bytes at the beginning of s that base64 uses, in either form.
func base64Run(s string) int {
	for i := range len(s) {
		if ascii[s[i]]&inBase64 == 0 {
			return i
		}
	}
	return len(s)
}

// isMixed reports whether s has upper case, lower case and digits: paths rarely do.
func isMixed(s string) bool {
	var seen uint8
	for i := range len(s) {
		seen |= text.ByteClass[s[i]]
	}
	const all = text.ByteUpper | text.ByteLower | text.ByteDigit
	return seen&all == all
}

// leading is the part of a base64 run that is indexed.
func leading(run string) string {
	if i := strings.IndexAny(run, "+/="); i >= 0 {
		run = run[:i]
	}
	return strings.Trim(run[:min(len(run), maxWord)], "-_")
}
