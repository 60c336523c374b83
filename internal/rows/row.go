package rows

import (
	"bytes"
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Session is a row of the table of that name.
type Session struct {
	ID     int64
	Key    store.SessionKey
	Head   uint64                     // number of the newest entry
	Kinds  map[store.EntryKind]uint64 // and of the newest of each kind
	Bytes  int64
	First  int64
	Last   int64
	Newest int64 // ID of the newest entry
}

// Record is a row of the table entry: a [store.Entry] and what the store needs to know.
type Record struct {
	store.Entry
	ID       int64  // grows with time; each store has its own kind of number
	Prev     uint64 // number of the entry of the same kind before this one, or 0
	TextHash transcript.Hash
	stored   []byte // the checksum in the row
}

// The columns that ReadSession and ReadEntry read, in their order. The ID of an entry
// goes before EntryColumns.
const (
	SessionColumns = "s.id, s.tenant, s.name, s.head, s.kinds, s.bytes, s.first, s.last, s.newest, s.sum"
	EntryColumns   = "e.seq, e.prev, e.kind, e.label, e.time, e.size, e.body, e.text, e.sum, e.data"
)

// NewSession returns a session without entries.
func NewSession(id int64, key store.SessionKey) *Session {
	return &Session{ID: id, Key: key, Kinds: make(map[store.EntryKind]uint64)}
}

// Values are the columns head, kinds, bytes, first, last, newest and sum, and then the id.
func (x *Session) Values() []any {
	return []any{int64(x.Head), encodeKinds(x.Kinds), x.Bytes, x.First, x.Last, x.Newest, x.sum(), x.ID}
}

func (x *Session) sum() []byte {
	var s Summer
	s.Text("session")
	s.Number(uint64(x.ID))
	s.Text(x.Key.Tenant)
	s.Text(x.Key.Session)
	s.Number(x.Head)
	s.Bytes(encodeKinds(x.Kinds))
	for _, n := range []int64{x.Bytes, x.First, x.Last, x.Newest} {
		s.Number(uint64(n))
	}
	return s.Sum()
}

// Sum is the checksum of an entry row. It covers the session's name, so an entry that
// turns up in another session fails its check.
func (r *Record) Sum(key store.SessionKey) []byte {
	var s Summer
	s.Grow(256 + len(r.Data))
	s.Text("entry")
	s.Text(key.Tenant)
	s.Text(key.Session)
	s.Number(r.Seq)
	s.Number(r.Prev)
	s.Text(string(r.Kind))
	s.Text(r.Label)
	s.Number(uint64(r.Time.UnixMilli()))
	s.Number(uint64(r.BodySize))
	s.Bytes(HashColumn(r.BodyHash))
	s.Bytes(HashColumn(r.TextHash))
	s.Bytes(r.Data)
	return s.Sum()
}

// SessionHash is the key by which a session is found, whatever the length of its names.
func SessionHash(key store.SessionKey) []byte { return KeyOf("key", key.Tenant, key.Session) }

// FindKey is the key by which the entries of a kind with a label are found.
func FindKey(tenant string, kind store.EntryKind, label string) []byte {
	return KeyOf("find", tenant, string(kind), label)[:16]
}

// HashColumn is a hash as it is stored: nil if there is none.
func HashColumn(h transcript.Hash) []byte {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

// SetHash reads what HashColumn wrote, and reports whether it can be a hash.
func SetHash(h *transcript.Hash, b []byte) bool {
	return len(b) == 0 || len(b) == copy(h[:], b) && len(b) == len(h)
}

// Column keeps an empty value from becoming NULL.
func Column[T ~string | ~[]byte](v T) []byte { return append([]byte{}, v...) }

// Scanner is a single row, or the current row of several.
type Scanner interface{ Scan(dest ...any) error }

// Cursor is the result of a query, in either driver.
type Cursor interface {
	Scanner
	Next() bool
	Err() error
}

// List yields the rows of a query, or its error.
type List = iter.Seq2[Scanner, error]

// Each yields the rows of a query and closes the query.
func Each[C Cursor](list C, err error) List {
	return func(yield func(Scanner, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		switch c := any(list).(type) {
		case interface{ Close() }:
			defer c.Close()
		case interface{ Close() error }:
			defer c.Close()
		}
		for list.Next() {
			if !yield(list, nil) {
				return
			}
		}
		if err := list.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Collect reads every row. With an error it returns the values before it.
func Collect[T any](list List, read func(row Scanner) (T, error)) (all []T, err error) {
	for row, err := range list {
		if err != nil {
			return all, err
		}
		v, err := read(row)
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Text reads a row of one column of bytes.
func Text(row Scanner) (string, error) {
	var b []byte
	err := row.Scan(&b)
	return string(b), err
}

// damaged is the error of a row that fails its check. It becomes [store.ErrCorrupt] where
// the name of the object is known.
type damaged struct{ error }

// scan reads the columns of a row. A value that does not fit its Go type is damage: no
// store writes one.
func (b *Base) scan(row Scanner, dest ...any) error {
	err := row.Scan(dest...)
	if err != nil && b.tables.Misfit(err) {
		return damaged{err}
	}
	return err
}

// ifDamaged returns what was read of a row that fails its check, along with the error.
func ifDamaged[T any](v *T, err error) (*T, error) {
	if _, ok := errors.AsType[damaged](err); !ok {
		return nil, err
	}
	return v, err
}

// ReadSession reads SessionColumns. A session that fails its check is returned with the
// error.
func (b *Base) ReadSession(row Scanner) (*Session, error) {
	var x Session
	var tenant, name, kinds, sum []byte
	err := b.scan(row, &x.ID, &tenant, &name, &x.Head, &kinds, &x.Bytes, &x.First, &x.Last, &x.Newest, &sum)
	x.Key = store.SessionKey{Tenant: string(tenant), Session: string(name)}
	if err != nil {
		return ifDamaged(&x, err)
	}
	if x.Kinds, err = decodeKinds(kinds); err != nil {
		return &x, damaged{err}
	}
	if !bytes.Equal(sum, x.sum()) {
		return &x, damaged{errors.New("checksum of the session does not fit")}
	}
	return &x, nil
}

// ReadSessionOf is ReadSession for the row of the session with that key. Without a row
// it returns nil.
func (b *Base) ReadSessionOf(key store.SessionKey, row Scanner) (*Session, error) {
	x, err := b.ReadSession(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, b.In(err, "session %q", key)
	}
	if x.Key != key {
		return nil, b.Corrupt("session %q: its index leads to session %q", key, x.Key)
	}
	return x, nil
}

// ReadEntry reads an ID, EntryColumns, and more behind them, of a row of the session
// with that key, and checks it. An entry that fails its check is returned with the error.
func (b *Base) ReadEntry(row Scanner, key store.SessionKey, more ...any) (*Record, error) {
	r, err := b.scanEntry(row, more...)
	if err == nil {
		err = r.check(key)
	}
	return r, err
}

// scanEntry is ReadEntry without the check.
func (b *Base) scanEntry(row Scanner, more ...any) (*Record, error) {
	var r Record
	var kind, label, body, text []byte
	var millis int64
	dest := []any{&r.ID, &r.Seq, &r.Prev, &kind, &label, &millis, &r.BodySize, &body, &text, &r.stored, &r.Data}
	if err := b.scan(row, append(dest, more...)...); err != nil {
		return ifDamaged(&r, err)
	}
	label, err1 := b.Keys.plain(label, "label")
	data, err2 := b.Keys.plain(r.Data, "data")
	if err := cmp.Or(err1, err2); err != nil {
		return &r, damaged{fmt.Errorf("entry %d %w", r.Seq, err)}
	}
	r.Data = data
	r.Kind, r.Label, r.Time = store.EntryKind(kind), string(label), time.UnixMilli(millis).UTC()
	if len(r.Data) == 0 {
		r.Data = nil
	}
	if !SetHash(&r.BodyHash, body) || !SetHash(&r.TextHash, text) {
		r.stored = nil // fits nothing
	}
	return &r, nil
}

// check compares the row's checksum with what it must be in that session.
func (r *Record) check(key store.SessionKey) error {
	if !bytes.Equal(r.stored, r.Sum(key)) {
		return damaged{fmt.Errorf("checksum of entry %d does not fit", r.Seq)}
	}
	return nil
}

// ReadBody reads an ID, EntryColumns, and size, codec and data of the entry's body, which
// must be the one with that hash. It leaves the packed body in data.
func ReadBody[D ~[]byte](b *Base, row Scanner, key store.SessionKey, hash transcript.Hash, data *D) ([]byte, error) {
	var size, codec *int
	r, err := b.ReadEntry(row, key, &size, &codec, data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, b.In(err, "session %q", key)
	}
	if r.BodyHash != hash {
		return nil, b.Corrupt("session %q: an index leads to the wrong body", key)
	}
	if size == nil || codec == nil {
		return nil, b.Corrupt("session %q: body %v is missing", key, hash)
	}
	body, err := b.Keys.Unpack(Blob{Size: *size, Codec: *codec, Data: *data}, r.BodySize, hash)
	if err != nil {
		return nil, b.Corrupt("session %q: body %v %w", key, hash, err)
	}
	return body, nil
}

// TextColumns are what ReadText reads behind the ID and EntryColumns: the names of the
// session, and the rows of the text and of the body, if they are there.
const TextColumns = "s.tenant, s.name, coalesce(t.size, 0), coalesce(t.codec, 0), t.data, " +
	"coalesce(b.size, 0), coalesce(b.codec, 0), b.data"

// maxSize bounds what a damaged size can make the decompressor allocate. No database
// holds larger values.
const maxSize = 1 << 30

// ReadText reads the text of an entry from where it is: by itself, in the body, or as
// the body.
func (b *Base) ReadText(row Scanner) (seq uint64, text string, err error) {
	var tenant, name []byte
	var own, body Blob
	r, err := b.scanEntry(row, &tenant, &name, &own.Size, &own.Codec, &own.Data, &body.Size, &body.Codec, &body.Data)
	if err != nil {
		return 0, "", b.In(err, "text of an entry")
	}
	key := store.SessionKey{Tenant: string(tenant), Session: string(name)}
	if err := r.check(key); err != nil {
		return 0, "", b.In(err, "session %q", key)
	}
	var content []byte
	switch {
	case r.TextHash == r.BodyHash:
		content, err = b.Keys.Unpack(body, r.BodySize, r.BodyHash)
	case own.Size < 0 || own.Size > maxSize:
		err = fmt.Errorf("says that it has %d bytes", own.Size)
	case !own.InBody():
		content, err = own.Unpack(own.Size, r.TextHash)
	default:
		if content, err = b.Keys.Unpack(body, r.BodySize, r.BodyHash); err != nil {
			err = fmt.Errorf("is in a body that %w", err)
		} else {
			content, err = own.UnpackFrom(content, own.Size, r.TextHash)
		}
	}
	if err != nil {
		return 0, "", b.Corrupt("session %q: text of entry %d %w", key, r.Seq, err)
	}
	return r.Seq, string(content), nil
}
