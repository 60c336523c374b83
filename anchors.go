package pleat

import "iter"

// Anchors are exact names in a text: identifiers, paths, versions, ids, numbers. They
// are found by one pass over the bytes, without regular expressions, because everything
// that is folded is looked through. An anchor is known by a hash of its spelling: that
// is all that is needed to see that two texts speak of the same thing.

// anchor is one exact name in a text.
type anchor struct {
	hash       uint64
	start, end int
}

// The classes of bytes that anchors are made of.
const (
	byteLower = 1 << iota
	byteUpper
	byteDigit
	byteUnder // '_', and all of UTF-8 beyond ASCII
	byteJoin  // '.', '-': inside of names such as go.mod, v1.2.3, well-known
	byteWord  = byteLower | byteUpper | byteDigit | byteUnder
)

// punctuation is the first byte of U+2000 to U+2FFF: quotes, dashes, arrows.
const punctuation = 0xE2

var byteClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = byteLower
		case 'A' <= c && c <= 'Z':
			t[c] = byteUpper
		case '0' <= c && c <= '9':
			t[c] = byteDigit
		case c == '_' || c >= 0x80 && c != punctuation:
			t[c] = byteUnder
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

// maxAnchor bounds the length of an anchor: longer runs are data, not names.
const maxAnchor = 80

// appendAnchors appends the anchors of a text. These count:
//
//   - words of a shape that prose does not have: foo_bar, fooBar, FooBar, sha256, HTTP2,
//     27a33e9, 8080 (numbers from three digits on);
//   - words joined by dots, where no part counts by itself: go.mod, sts.go, 1.26.3,
//     api.example.com.
//
// A path counts by its elements, so that its spellings meet: src/a.go and /home/me/src/a.go.
func appendAnchors(list []anchor, text string) []anchor {
	for i := 0; i < len(text); {
		if byteClass[text[i]]&byteWord == 0 {
			i += skipped(text[i])
			continue
		}
		list, i = appendName(list, text, i)
	}
	return list
}

// Anchors yields the exact names in a text, in order and as often as they occur:
// identifiers, paths by their elements, versions, ids, numbers from three digits on.
func Anchors(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, a := range appendAnchors(nil, text) {
			if !yield(text[a.start:a.end]) {
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
func appendName(list []anchor, text string, i int) ([]anchor, int) {
	start, found := i, len(list)
	whole := uint64(hashSeed)
	dots, words, wordEnd := 0, 0, i
	for i < len(text) {
		from, h := i, uint64(hashSeed)
		var seen, last uint8
		camel := false
		for i < len(text) {
			c := byteClass[text[i]]
			if c&byteWord == 0 {
				break
			}
			camel = camel || c == byteUpper && last&(byteLower|byteDigit) != 0
			seen |= c
			last = c
			h = (h ^ uint64(text[i])) * hashPrime
			i++
		}
		words++
		wordEnd = i
		whole = (whole ^ h) * hashPrime
		if isName(seen, camel, i-from) {
			list = append(list, anchor{h, from, i})
		}
		if i+1 >= len(text) || byteClass[text[i]] != byteJoin || byteClass[text[i+1]]&byteWord == 0 {
			break
		}
		if text[i] == '.' {
			dots++
		}
		i++
	}
	if len(list) == found && dots > 0 && wordEnd-start <= maxAnchor {
		list = append(list, anchor{whole, start, wordEnd})
	}
	return list, i
}

// isName reports whether a word has a shape that plain prose does not have.
func isName(seen uint8, camel bool, n int) bool {
	switch {
	case n < 3 || n > maxAnchor:
		return false
	case camel:
		return true
	case seen&byteUnder != 0:
		return seen&(byteLower|byteUpper) != 0
	case seen == byteDigit:
		return true
	case seen&byteDigit != 0:
		return n >= 4
	}
	return false
}

// wordHash is the hash of a word in lower case; only ASCII letters change.
func wordHash(s string) uint64 {
	h := uint64(hashSeed)
	for i := range len(s) {
		c := s[i]
		if byteClass[c] == byteUpper {
			c |= 0x20
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return h
}

// anchorCounts counts how often names occur, approximately: names may share a counter.
// A fixed table stays in the cache, whatever the length of the conversation.
type anchorCounts [1 << 16]uint16

func (c *anchorCounts) add(h uint64) {
	if n := &c[h>>48]; *n < 1<<16-1 {
		*n++
	}
}

func (c *anchorCounts) of(h uint64) int { return int(c[h>>48]) }
