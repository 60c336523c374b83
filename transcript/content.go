package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unsafe"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Content is text as a block holds it: a Go string, or the JSON string literal that
// came off the wire, decoded only when it is read. A request of a few megabytes is
// mostly tool output that nobody reads again; keeping the literal means that decoding
// a request copies none of it.
//
// The zero value is empty text.
type Content struct {
	s       string
	literal bool
	decoded bool   // text is what the literal says
	text    string // see Content.read
}

// Plain returns text given as a Go string.
func Plain(s string) Content { return Content{s: s} }

// Literal returns text given as a valid JSON string literal with its quotes.
func Literal(lit string) Content { return Content{s: lit, literal: true} }

// String returns the text. Lone surrogates in a literal decode to U+FFFD; the literal
// itself is never changed.
func (c Content) String() string {
	switch {
	case !c.literal:
		return c.s
	case c.decoded:
		return c.text
	case len(c.s) < 2:
		return ""
	}
	if strings.IndexByte(c.s, '\\') < 0 {
		return c.s[1 : len(c.s)-1]
	}
	// Text is never longer than its literal, so that one piece of memory is enough.
	text, _ := jsonspan.AppendUnquote(make([]byte, 0, len(c.s)-2), StringBytes(c.s))
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// read returns the content with its text beside the literal, for content that is about to
// be looked at several times.
func (c Content) read() Content {
	if c.literal && !c.decoded {
		c.text, c.decoded = c.String(), true
	}
	return c
}

// Escaped returns the literal that came off the wire if its text differs from it and has
// not been decoded: then String has to make the text.
func (c Content) Escaped() (lit string, ok bool) {
	if !c.literal || c.decoded || strings.IndexByte(c.s, '\\') < 0 {
		return "", false
	}
	return c.s, true
}

// IsEmpty reports whether the text has no bytes.
func (c Content) IsEmpty() bool { return c.s == "" || c.literal && c.s == `""` }

// Size is the number of bytes held: the text's, or its literal's without the quotes.
// It bounds the length of the decoded text from above.
func (c Content) Size() int {
	if c.literal {
		return max(len(c.s)-2, 0)
	}
	return len(c.s)
}

// Literal returns the text as a JSON string literal: the one that came off the wire
// where there is one.
func (c Content) Literal() string {
	if c.literal {
		return c.s
	}
	lit := jsonspan.AppendQuote(make([]byte, 0, len(c.s)+len(c.s)/16+2), c.s) // pages have tens of kilobytes
	return unsafe.String(unsafe.SliceData(lit), len(lit))
}

// Hash is the SHA-256 of something: a blob, a message, a prefix of a conversation.
type Hash [sha256.Size]byte

// HashOf hashes text or bytes without copying them.
func HashOf[T ~string | ~[]byte](data T) Hash {
	if unsafe.Sizeof(data) == unsafe.Sizeof("") { // a string, which []byte(data) would copy
		return sha256.Sum256(StringBytes(string(data)))
	}
	return sha256.Sum256([]byte(data))
}

// StringBytes views a string as bytes, which must not be changed.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// String is the hash in lower-case hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash was never set.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err == nil {
		*h = parsed
	}
	return err
}

// ParseHash reads what [Hash.String] wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("parse hash %q: want %d hexadecimal digits", s, hex.EncodedLen(len(h)))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("parse hash %q: %w", s, err)
	}
	return h, nil
}

// Chain turns the hashes of messages into the hashes of a conversation's prefixes: element i
// stands for all messages up to i, in that order, behind the prefix whose hash is before; the
// zero hash stands for none. Two conversations that share element i are the same up to there.
func Chain(before Hash, messages []Hash) []Hash {
	out := make([]Hash, len(messages))
	var link [2 * sha256.Size]byte
	copy(link[:], before[:])
	for i, h := range messages {
		copy(link[sha256.Size:], h[:])
		out[i] = sha256.Sum256(link[:])
		copy(link[:sha256.Size], out[i][:])
	}
	return out
}
