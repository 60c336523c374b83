package text

import "iter"

// Anchor is one exact name in a text: an identifier, an element of a path, a version, an
// id, a number. Anchors are found in one pass over the bytes, because everything that is
// folded is searched for them. The hash of its spelling stands for an anchor: it is all
// that is needed to see that two texts speak of the same thing.
type Anchor struct {
	Hash       uint64
	Start, end int
}

// The classes of bytes that anchors are made of; see [ByteClass].
const (
	ByteLower = 1 << iota
	ByteUpper
	ByteDigit
	ByteUnder // '_', and the bytes of characters beyond ASCII, punctuation aside
	byteJoin  // '.', '-': inside of names such as go.mod, v1.2.3, well-known
	ByteWord  = ByteLower | ByteUpper | ByteDigit | ByteUnder
)

// punctuation is the first byte of U+2000 to U+2FFF: quotes, dashes, arrows.
const punctuation = 0xE2

// ByteClass has the class of each byte, 0 for one that separates words.
var ByteClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = ByteLower
		case 'A' <= c && c <= 'Z':
			t[c] = ByteUpper
		case '0' <= c && c <= '9':
			t[c] = ByteDigit
		case c == '_' || c >= 0x80 && c != punctuation:
			t[c] = ByteUnder
		case c == '.' || c == '-':
			t[c] = byteJoin
		}
	}
	return t
}()

const (
	hashSeed  = 14695981039346656037
	hashPrime = 1099511628211
)

// MaxAnchor bounds the length of an anchor: longer runs are data, not names.
const MaxAnchor = 80

// AppendAnchors appends the anchors of a text. These count:
//
//   - words of a shape that prose does not have: foo_bar, fooBar, FooBar, sha256, HTTP2,
//     27a33e9, 8080 (numbers from three digits on);
//   - words joined by dots, where no part counts by itself: go.mod, sts.go, 1.26.3,
//     api.example.com.
//
// A path counts by its elements, so that its spellings meet: src/a.go and /home/me/src/a.go.
func AppendAnchors(list []Anchor, text string) []Anchor {
	for i := 0; i < len(text); {
		if ByteClass[text[i]]&ByteWord == 0 {
			i += skipped(text[i])
		} else {
			list, i = appendName(list, text, i)
		}
	}
	return list
}

// Anchors yields the exact names in a text, in order and as often as they occur:
// identifiers, paths by their elements, versions, ids, numbers from three digits on.
func Anchors(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, a := range AppendAnchors(nil, text) {
			if !yield(text[a.Start:a.end]) {
				return
			}
		}
	}
}

// skipped is how far to go on after a byte that begins no word.
func skipped(c byte) int {
	if c == punctuation {
		return 3
	}
	return 1
}

// appendName reads the run of words and joins that begins at i.
func appendName(list []Anchor, text string, i int) ([]Anchor, int) {
	start, found := i, len(list)
	whole := uint64(hashSeed)
	dots, words, wordEnd := 0, 0, i
	for i < len(text) {
		from, h := i, uint64(hashSeed)
		var seen, last uint8
		camel := false
		for i < len(text) {
			c := ByteClass[text[i]]
			if c&ByteWord == 0 {
				break
			}
			camel = camel || c == ByteUpper && last&(ByteLower|ByteDigit) != 0
			seen |= c
			last = c
			h = (h ^ uint64(text[i])) * hashPrime
			i++
		}
		words++
		wordEnd = i
		whole = (whole ^ h) * hashPrime
		if isName(seen, camel, i-from) {
			list = append(list, Anchor{h, from, i})
		}
		if i+1 >= len(text) || ByteClass[text[i]] != byteJoin || ByteClass[text[i+1]]&ByteWord == 0 {
			break
		}
		if text[i] == '.' {
			dots++
		}
		i++
	}
	if len(list) == found && dots > 0 && wordEnd-start <= MaxAnchor {
		list = append(list, Anchor{whole, start, wordEnd})
	}
	return list, i
}

// isName reports whether a word has a shape that plain prose does not have.
func isName(seen uint8, camel bool, n int) bool {
	switch {
	case n < 3 || n > MaxAnchor:
		return false
	case seen&ByteUnder != 0:
		return camel || seen&(ByteLower|ByteUpper) != 0
	}
	return camel || seen == ByteDigit || seen&ByteDigit != 0 && n >= 4
}

// wordHash is the hash of a word in lower case; only ASCII letters change.
func wordHash(s string) uint64 {
	h := uint64(hashSeed)
	for i := range len(s) {
		c := s[i]
		if ByteClass[c] == ByteUpper {
			c |= 0x20
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return h
}
