package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
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

// sum is the checksum of a session row.
func (x *session) sum() []byte {
	var s packed.Summer
	s.Text("session")
	s.Number(uint64(x.id))
	s.Text(x.key.Tenant)
	s.Text(x.key.Session)
	s.Number(x.head)
	s.Bytes(packed.EncodeKinds(x.kinds))
	for _, n := range []int64{x.bytes, x.first, x.last, x.newest} {
		s.Number(uint64(n))
	}
	return s.Sum()
}

// sum is the checksum of an entry row. It holds the session's name, so that an entry
// that turns up in another session does not check.
func (r *record) sum(key pleat.SessionKey) []byte {
	var s packed.Summer
	s.Grow(256 + len(r.Data))
	s.Text("entry")
	s.Text(key.Tenant)
	s.Text(key.Session)
	s.Number(r.Seq)
	s.Number(r.prev)
	s.Text(string(r.Kind))
	s.Text(r.Label)
	s.Number(uint64(r.Time.UnixMilli()))
	s.Number(uint64(r.BodySize))
	s.Bytes(hashColumn(r.BodyHash))
	s.Bytes(hashColumn(r.textHash))
	s.Bytes(r.Data)
	return s.Sum()
}

// sessionHash is how a session is found.
func sessionHash(key pleat.SessionKey) []byte {
	return packed.KeyOf("key", key.Tenant, key.Session)
}

// findKey is how an entry is found by its label.
func findKey(tenant string, kind pleat.EntryKind, label string) []byte {
	return packed.KeyOf("find", tenant, string(kind), label)[:16]
}

// ownerOf is the number of a tenant: 8 bytes of a hash. What belongs to two tenants
// that share one, if there ever were such, is told apart by the tenant's name.
func ownerOf(tenant string) int64 {
	return int64(binary.BigEndian.Uint64(packed.KeyOf("tenant", tenant)))
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
	if x.kinds, err = packed.DecodeKinds(kinds); err != nil {
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
