package rows

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Keys encrypt what a store holds of a conversation's words: bodies, data and labels. The
// zero value encrypts nothing. Names, kinds, times, sizes and hashes stay as they are,
// because rows are found by them.
type Keys struct{ keys []key }

type key struct {
	id   []byte // begins what the key has encrypted
	aead cipher.AEAD
}

// ErrKey: something is encrypted, and its key is not given. It is not damaged.
var ErrKey = errors.New("is encrypted")

const (
	keyBytes = 32
	idBytes  = 8
	sealing  = "\x00pleat-sealed\x00" // begins columns that are encrypted
	// codecSealed is added to the codec of a blob that is encrypted.
	codecSealed = 16
)

// NewKeys takes keys of 32 bytes. The first one encrypts, all of them decrypt.
func NewKeys(keys [][]byte) (Keys, error) {
	var out Keys
	for _, k := range keys {
		if len(k) != keyBytes {
			return Keys{}, fmt.Errorf("the key of a store has %d bytes, want %d", len(k), keyBytes)
		}
		block, err := aes.NewCipher(k)
		if err != nil {
			return Keys{}, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return Keys{}, err
		}
		id := sha256.Sum256(append([]byte("pleat store key "), k...))
		out.keys = append(out.keys, key{id[:idBytes], aead})
	}
	return out, nil
}

func (k Keys) none() bool { return len(k.keys) == 0 }

// seal encrypts for one column, so that a value moved to another column does not decrypt.
func (k Keys) seal(begin string, data []byte, use string) []byte {
	out := append([]byte(begin), k.keys[0].id...)
	return k.keys[0].aead.Seal(out, nil, data, []byte(use))
}

func (k Keys) open(data []byte, use string) ([]byte, error) {
	key, err := k.of(data)
	if err != nil {
		return nil, err
	}
	out, err := key.aead.Open(nil, nil, data[idBytes:], []byte(use))
	if err != nil {
		return nil, errors.New("does not decrypt: it was changed")
	}
	return out, nil
}

// of is the key that has encrypted data.
func (k Keys) of(data []byte) (key, error) {
	for _, key := range k.keys {
		if bytes.HasPrefix(data, key.id) {
			return key, nil
		}
	}
	if k.none() {
		return key{}, fmt.Errorf("%w: open the store with its key", ErrKey)
	}
	return key{}, fmt.Errorf(
		"%w with a key that is not given: the one given may be wrong, or not the only one needed", ErrKey)
}

// Fit returns an error if the key that has encrypted data, or whose ID it is, is not given.
func (k Keys) Fit(data []byte) error {
	_, err := k.of(data)
	if err != nil {
		err = fmt.Errorf("the store %w", err)
	}
	return err
}

// ID names the key that encrypts, nil if nothing is encrypted.
func (k Keys) ID() []byte {
	if k.none() {
		return nil
	}
	return k.keys[0].id
}

// Column is [Column], encrypted if there is a key.
func (k Keys) Column(v []byte, use string) []byte {
	if k.none() || len(v) == 0 {
		return Column(v)
	}
	return k.seal(sealing, v, use)
}

// plain decrypts a column. What was written before the store had a key is as it was.
func (k Keys) plain(v []byte, use string) ([]byte, error) {
	rest, sealed := bytes.CutPrefix(v, []byte(sealing))
	if !sealed {
		return v, nil
	}
	return k.open(rest, use)
}

// sealed encrypts a blob if there is a key.
func (k Keys) sealed(p Blob) Blob {
	if !k.none() && p.Size > 0 {
		p.Codec, p.Data = p.Codec+codecSealed, k.seal("", p.Data, "blob")
	}
	return p
}

// Unpack is [Blob.Unpack] of a blob that may be encrypted.
func (k Keys) Unpack(p Blob, size int, hash [32]byte) ([]byte, error) {
	if p.Codec >= codecSealed {
		data, err := k.open(p.Data, "blob")
		if err != nil {
			return nil, err
		}
		p.Codec, p.Data = p.Codec-codecSealed, data
	}
	return p.Unpack(size, hash)
}
