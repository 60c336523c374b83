package adopt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// boltStore keeps sessions in a bbolt file. Each has a bucket with its entries by number and its
// bodies by hash, whose sequence is the number of the newest entry. The bucket labels has the
// newest entry of each label.
type boltStore struct{ db *bbolt.DB }

var labels = []byte("labels")

// name makes one key of several texts, number one of an entry's number.
func name(texts ...string) []byte { return fmt.Appendf(nil, "%q", texts) }
func number(seq uint64) []byte    { return binary.BigEndian.AppendUint64(nil, seq) }

// encode writes an entry behind its hash, and decode checks and reads it.
func encode(f store.Found) []byte {
	var b bytes.Buffer
	_ = gob.NewEncoder(&b).Encode(f) // nothing in it can fail
	sum := transcript.HashOf(b.Bytes())
	return append(sum[:], b.Bytes()...)
}

func decode(data []byte) (f store.Found, err error) {
	var sum transcript.Hash
	if n := copy(sum[:], data); n < len(sum) || transcript.HashOf(data[n:]) != sum {
		return f, store.ErrCorrupt
	}
	return f, gob.NewDecoder(bytes.NewReader(data[len(sum):])).Decode(&f)
}

// do runs a transaction and says in its error what it was for.
func do(ctx context.Context, doing string, run func(func(*bbolt.Tx) error) error, f func(*bbolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = run(f)
	}
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		err = store.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s boltStore) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	next := last
	err := do(ctx, "append", s.db.Update, func(tx *bbolt.Tx) error {
		b, err1 := tx.CreateBucketIfNotExists(name(key.Tenant, key.Session))
		names, err2 := tx.CreateBucketIfNotExists(labels)
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		if n := b.Sequence(); n != last {
			return fmt.Errorf("after entry %d of %d: %w", last, n, store.ErrConflict)
		}
		for _, e := range entries {
			next++
			if err := add(b, names, key, next, e); err != nil {
				return err
			}
		}
		return b.SetSequence(next)
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

func add(b, names *bbolt.Bucket, key store.SessionKey, seq uint64, e store.Entry) (err error) {
	if e.Kind == "" {
		return fmt.Errorf("entry %d has no kind", seq)
	}
	body := e.Body
	e.Seq, e.Time, e.Body, e.Text = seq, time.UnixMilli(e.Time.UnixMilli()).UTC(), nil, "" // what Scan returns
	if e.BodySize = len(body); e.BodySize > 0 {
		e.BodyHash = transcript.HashOf(body)
		err = b.Put(e.BodyHash[:], body)
	}
	data := encode(store.Found{Key: key, Entry: e})
	if e.Label != "" && err == nil {
		err = names.Put(name(key.Tenant, string(e.Kind), e.Label), data)
	}
	return cmp.Or(err, b.Put(number(seq), data))
}

func (s boltStore) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for seq, more := max(from, 1), true; more; seq++ {
			var found store.Found
			// One each: the caller may write meanwhile.
			err := do(ctx, "scan", s.db.View, func(tx *bbolt.Tx) (err error) {
				b := tx.Bucket(name(key.Tenant, key.Session))
				if more = b != nil && seq <= b.Sequence(); more {
					found, err = decode(b.Get(number(seq)))
				}
				return err
			})
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			if e := found.Entry; more && (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) && !yield(e, nil) {
				return
			}
		}
	}
}

func (s boltStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) (body []byte, err error) {
	err = do(ctx, "read body", s.db.View, func(tx *bbolt.Tx) error {
		if b := tx.Bucket(name(key.Tenant, key.Session)); b != nil {
			body = slices.Clone(b.Get(hash[:]))
		}
		if body == nil {
			return store.ErrNotFound
		}
		if transcript.HashOf(body) != hash {
			return store.ErrCorrupt
		}
		return nil
	})
	return body, err
}

func (s boltStore) Find(
	ctx context.Context, tenant string, kind store.EntryKind, wanted ...string,
) (found []store.Found, err error) {
	err = do(ctx, "find", s.db.View, func(tx *bbolt.Tx) error {
		for _, label := range slices.Compact(slices.Sorted(slices.Values(wanted))) {
			if b := tx.Bucket(labels); b != nil && b.Get(name(tenant, string(kind), label)) != nil {
				f, err := decode(b.Get(name(tenant, string(kind), label)))
				if err != nil {
					return err
				}
				found = append(found, f)
			}
		}
		return nil
	})
	return found, err
}

func (s boltStore) Close() error { return s.db.Close() }
