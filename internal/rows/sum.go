package rows

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat/store"
)

// Summer makes checksums and keys from fields, so that no two different lists of fields
// have the same bytes. An entry has the same checksum in every kind of store. The zero
// value is ready for use.
type Summer struct{ buf []byte }

// Grow makes room for n bytes.
func (s *Summer) Grow(n int) { s.buf = slices.Grow(s.buf, n) }

// Bytes adds a field of bytes, with its length before it.
func (s *Summer) Bytes(b []byte) {
	s.buf = binary.AppendUvarint(s.buf, uint64(len(b)))
	s.buf = append(s.buf, b...)
}

// Text adds a field of text, as Bytes does.
func (s *Summer) Text(v string) {
	s.buf = binary.AppendUvarint(s.buf, uint64(len(v)))
	s.buf = append(s.buf, v...)
}

// Number adds a field of eight bytes.
func (s *Summer) Number(n uint64) { s.buf = binary.BigEndian.AppendUint64(s.buf, n) }

// Sum is SHA-256 over the fields.
func (s *Summer) Sum() []byte {
	h := sha256.Sum256(s.buf)
	return h[:]
}

// KeyOf is the sum over texts. It is the key of rows whose names may be too long for an
// index.
func KeyOf(texts ...string) []byte {
	var s Summer
	for _, t := range texts {
		s.Text(t)
	}
	return s.Sum()
}

// encodeKinds writes the newest number of each kind, sorted by kind.
func encodeKinds(kinds map[store.EntryKind]uint64) []byte {
	s := Summer{buf: []byte{}}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		s.Text(string(kind))
		s.Number(kinds[kind])
	}
	return s.buf
}

// decodeKinds reads what encodeKinds wrote.
func decodeKinds(b []byte) (map[store.EntryKind]uint64, error) {
	kinds := make(map[store.EntryKind]uint64)
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) || uint64(len(b)) < uint64(k)+n+8 {
			return nil, errors.New("list of kinds is cut short")
		}
		kind, rest := b[k:k+int(n)], b[k+int(n):]
		kinds[store.EntryKind(kind)] = binary.BigEndian.Uint64(rest)
		b = rest[8:]
	}
	return kinds, nil
}
