package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pleat-dev/pleat"
)

// session is a row of the table of that name.
type session struct {
	id     int64
	key    pleat.SessionKey
	head   uint64                     // number of the newest entry
	kinds  map[pleat.EntryKind]uint64 // and of the newest of each kind
	bytes  int64
	first  int64
	last   int64
	newest int64 // moment of the newest entry
}

// record is a row of the table entry: a [pleat.Entry] and what the store needs to know.
type record struct {
	pleat.Entry
	prev     uint64 // number of the entry of the same kind before this one, or 0
	textHash pleat.Hash
	stored   []byte // the checksum in the row
}

const (
	sessionColumns = "s.id, s.tenant, s.name, s.head, s.kinds, s.bytes, s.first, s.last, s.newest, s.sum"
	entryColumns   = "e.seq, e.prev, e.kind, e.label, e.time, e.size, e.body, e.text, e.sum, e.data"
)

// summer hashes fields so that no two different lists of fields look the same.
type summer struct{ buf []byte }

func (s *summer) bytes(b []byte) {
	s.buf = binary.AppendUvarint(s.buf, uint64(len(b)))
	s.buf = append(s.buf, b...)
}

func (s *summer) string(v string) {
	s.buf = binary.AppendUvarint(s.buf, uint64(len(v)))
	s.buf = append(s.buf, v...)
}
func (s *summer) number(n uint64) { s.buf = binary.BigEndian.AppendUint64(s.buf, n) }
func (s *summer) sum() []byte {
	h := sha256.Sum256(s.buf)
	return h[:]
}

// sum is the checksum of a session row.
func (x *session) sum() []byte {
	var s summer
	s.string("session")
	s.number(uint64(x.id))
	s.string(x.key.Tenant)
	s.string(x.key.Session)
	s.number(x.head)
	s.bytes(encodeKinds(x.kinds))
	for _, n := range []int64{x.bytes, x.first, x.last, x.newest} {
		s.number(uint64(n))
	}
	return s.sum()
}

// sum is the checksum of an entry row. It holds the session's name, so that an entry
// that turns up in another session does not check.
func (r *record) sum(key pleat.SessionKey) []byte {
	var s summer
	s.buf = make([]byte, 0, 256+len(r.Data))
	s.string("entry")
	s.string(key.Tenant)
	s.string(key.Session)
	s.number(r.Seq)
	s.number(r.prev)
	s.string(string(r.Kind))
	s.string(r.Label)
	s.number(uint64(r.Time.UnixMilli()))
	s.number(uint64(r.BodySize))
	s.bytes(hashColumn(r.BodyHash))
	s.bytes(hashColumn(r.textHash))
	s.bytes(r.Data)
	return s.sum()
}

// sessionHash is how a session is found.
func sessionHash(key pleat.SessionKey) []byte {
	var s summer
	s.string("key")
	s.string(key.Tenant)
	s.string(key.Session)
	return s.sum()
}

// findKey is how an entry is found by its label.
func findKey(tenant string, kind pleat.EntryKind, label string) []byte {
	var s summer
	s.string("find")
	s.string(tenant)
	s.string(string(kind))
	s.string(label)
	return s.sum()[:16]
}

// ownerOf is the number of a tenant: 8 bytes of a hash. What belongs to two tenants
// that share one, if there ever were such, is told apart by the tenant's name.
func ownerOf(tenant string) int64 {
	var s summer
	s.string("tenant")
	s.string(tenant)
	return int64(binary.BigEndian.Uint64(s.sum()))
}

// hashColumn is a hash as it is stored: nil if there is none.
func hashColumn(h pleat.Hash) []byte {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

// column keeps an empty value from becoming NULL.
func column[T ~string | ~[]byte](v T) []byte { return append([]byte{}, v...) }

// encodeKinds writes the newest number of each kind, sorted by kind.
func encodeKinds(kinds map[pleat.EntryKind]uint64) []byte {
	s := summer{buf: []byte{}}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		s.string(string(kind))
		s.number(kinds[kind])
	}
	return s.buf
}

func decodeKinds(b []byte) (map[pleat.EntryKind]uint64, error) {
	kinds := make(map[pleat.EntryKind]uint64)
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) || uint64(len(b)) < uint64(k)+n+8 {
			return nil, errors.New("list of kinds is cut short")
		}
		kind, rest := b[k:k+int(n)], b[k+int(n):]
		kinds[pleat.EntryKind(kind)] = binary.BigEndian.Uint64(rest)
		b = rest[8:]
	}
	return kinds, nil
}

// scanner is what both a row and rows are.
type scanner interface{ Scan(dest ...any) error }

// readSession reads the columns sessionColumns. A row that does not check comes with
// an errDamaged.
func readSession(row scanner) (*session, error) {
	var x session
	var tenant, name, kinds, sum []byte
	err := row.Scan(&x.id, &tenant, &name, &x.head, &kinds, &x.bytes, &x.first, &x.last, &x.newest, &sum)
	if err != nil {
		return nil, asDamage(err)
	}
	x.key = pleat.SessionKey{Tenant: string(tenant), Session: string(name)}
	if x.kinds, err = decodeKinds(kinds); err != nil {
		return &x, errDamaged{err.Error()}
	}
	if !bytes.Equal(sum, x.sum()) {
		return &x, errDamaged{"checksum of the session does not fit"}
	}
	return &x, nil
}

// readEntry reads the columns entryColumns, and more behind them, of a row of the
// session with that key, and checks it.
func readEntry(row scanner, key pleat.SessionKey, more ...any) (*record, error) {
	r, err := scanEntry(row, more...)
	if err == nil && !r.checks(key) {
		err = errDamaged{fmt.Sprintf("checksum of entry %d does not fit", r.Seq)}
	}
	return r, err
}

// scanEntry is readEntry without the check.
func scanEntry(row scanner, more ...any) (*record, error) {
	var r record
	var kind, label, body, text []byte
	var millis int64
	dest := append([]any{&r.Seq, &r.prev, &kind, &label, &millis, &r.BodySize, &body, &text, &r.stored, &r.Data}, more...)
	if err := row.Scan(dest...); err != nil {
		return nil, asDamage(err)
	}
	r.Kind, r.Label, r.Time = pleat.EntryKind(kind), string(label), time.UnixMilli(millis).UTC()
	if len(r.Data) == 0 {
		r.Data = nil
	}
	if !setHash(&r.BodyHash, body) || !setHash(&r.textHash, text) {
		r.stored = nil // fits nothing
	}
	return &r, nil
}

// checks reports whether the row has the checksum it must have in that session.
func (r *record) checks(key pleat.SessionKey) bool { return bytes.Equal(r.stored, r.sum(key)) }

func setHash(h *pleat.Hash, b []byte) bool {
	return len(b) == 0 || len(b) == copy(h[:], b) && len(b) == len(h)
}
