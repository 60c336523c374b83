package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unsafe"
)

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
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

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

// Chain turns the hashes of a conversation's messages into the hashes of its prefixes:
// element i stands for messages 0 to i, in that order. Two conversations that share
// element i are the same up to there.
func Chain(messages []Hash) []Hash { return ChainAfter(Hash{}, messages) }

// ChainAfter continues the hashes of a conversation's prefixes with those of further
// messages. Before is the hash of the prefix that they follow.
func ChainAfter(before Hash, messages []Hash) []Hash {
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
