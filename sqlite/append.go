package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// draft is an entry on its way into the store: hashed and compressed before the write
// lock is taken.
type draft struct {
	record
	body packed.Blob
	text packed.Blob
}

// Append implements [pleat.Store].
func (s *Store) Append(ctx context.Context, key pleat.SessionKey, last uint64, entries ...pleat.Entry) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("append to session %q: %w", key, err)
	}
	defer s.work.Done()
	drafts := make([]draft, len(entries))
	indexable := false
	for i, e := range entries {
		if e.Kind == "" {
			return 0, fmt.Errorf("append to session %q: entry %d has no kind", key, i)
		}
		drafts[i] = newDraft(e)
		indexable = indexable || e.Text != ""
	}
	var head uint64
	err := s.update(ctx, func(ctx context.Context) error {
		a, err := s.beginAppend(ctx, key, last)
		if err != nil {
			return err
		}
		for i := range drafts {
			if err := a.add(ctx, &drafts[i]); err != nil {
				return err
			}
		}
		head, err = a.end(ctx)
		return err
	})
	if err != nil {
		return 0, s.fail(ctx, err, "append to session %q", key)
	}
	if indexable {
		s.wakeIndexer()
	}
	return head, nil
}

// AppendSeq is [Store.Append] for entries that are still being made: each is packed and
// written as it comes, and all become durable together when the sequence ends. If it
// yields an error, or the store fails, nothing is there afterwards. Writers of other
// processes wait meanwhile, so the sequence must not take long.
func (s *Store) AppendSeq(ctx context.Context, key pleat.SessionKey, last uint64, entries iter.Seq2[pleat.Entry, error]) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("append to session %q: %w", key, err)
	}
	defer s.work.Done()
	var head uint64
	err := s.update(ctx, func(ctx context.Context) error {
		a, err := s.beginAppend(ctx, key, last)
		if err != nil {
			return err
		}
		for e, err := range entries {
			if err == nil && e.Kind == "" {
				err = fmt.Errorf("entry %d has no kind", a.added)
			}
			if err != nil {
				return err
			}
			d := newDraft(e)
			if err := a.add(ctx, &d); err != nil {
				return err
			}
		}
		head, err = a.end(ctx)
		return err
	})
	if err != nil {
		return 0, s.fail(ctx, err, "append to session %q", key)
	}
	s.wakeIndexer()
	return head, nil
}

// newDraft does all that can be done without the lock.
func newDraft(e pleat.Entry) draft {
	var d draft
	d.Entry = pleat.Entry{
		Kind: e.Kind, Label: e.Label, Time: time.UnixMilli(e.Time.UnixMilli()),
		Data: e.Data, BodySize: len(e.Body),
	}
	if len(e.Body) > 0 {
		d.BodyHash = pleat.HashOf(e.Body)
		d.body = packed.PackQuick(e.Body)
	}
	if e.Text != "" {
		if d.textHash = pleat.HashOf(e.Text); d.textHash != d.BodyHash {
			d.text = packed.PackPlaces(e.Text, e.Body)
		}
	}
	return d
}

// appending is an append under way, in a write transaction.
type appending struct {
	*Store
	key     pleat.SessionKey
	session *session // nil: it is not there, and nothing was added yet
	head    uint64
	added   int
	pending []int64 // entries to index
}

func (s *Store) beginAppend(ctx context.Context, key pleat.SessionKey, last uint64) (*appending, error) {
	x, err := s.sessionForWriting(ctx, key)
	if err != nil {
		return nil, err
	}
	a := &appending{Store: s, key: key, session: x}
	if x != nil {
		a.head = x.head
	}
	if a.head != last {
		return nil, fmt.Errorf("after entry %d: its last entry is %d: %w", last, a.head, pleat.ErrConflict)
	}
	return a, nil
}

func (a *appending) add(ctx context.Context, d *draft) error {
	var err error
	if a.session == nil {
		if a.session, err = a.addSession(ctx, a.key, d.Time); err != nil {
			return err
		}
	}
	if err := a.addEntry(ctx, a.session, d); err != nil {
		return fmt.Errorf("entry %d: %w", a.session.head, err)
	}
	if !d.textHash.IsZero() {
		a.pending = append(a.pending, a.session.newest)
	}
	a.added++
	return nil
}

// end brings the session's row up to date and returns the number of its last entry.
func (a *appending) end(ctx context.Context) (uint64, error) {
	if a.added == 0 {
		return a.head, nil
	}
	x := a.session
	if err := a.addPending(ctx, x, a.pending); err != nil {
		return 0, err
	}
	_, err := a.write.setSession.ExecContext(ctx, x.head, packed.EncodeKinds(x.kinds), x.bytes, x.first, x.last, x.newest, x.sum(), x.id)
	return x.head, err
}

// sessionForWriting finds the session inside the write transaction; nil if there is
// none.
func (s *Store) sessionForWriting(ctx context.Context, key pleat.SessionKey) (*session, error) {
	x, err := s.readSessionOf(key, s.write.sessionByName.QueryRowContext(ctx, column(key.Tenant), column(key.Session)))
	if x != nil || err != nil {
		return x, err
	}
	x, err = s.readSessionOf(key, s.write.sessionByHash.QueryRowContext(ctx, sessionHash(key)))
	if x != nil && err == nil {
		err = s.corrupt("session %q is missing in an index", key)
	}
	return nil, err
}

func (s *Store) addSession(ctx context.Context, key pleat.SessionKey, first time.Time) (*session, error) {
	result, err := s.write.addSession.ExecContext(ctx, column(key.Tenant), column(key.Session), sessionHash(key))
	if err != nil {
		return nil, err
	}
	id, err := result.LastInsertId()
	return &session{id: id, key: key, kinds: make(map[pleat.EntryKind]uint64), first: first.UnixMilli()}, err
}

// addEntry writes one entry and brings the session row, in memory, up to date.
func (s *Store) addEntry(ctx context.Context, x *session, d *draft) error {
	x.head++
	d.Seq, d.prev = x.head, x.kinds[d.Kind]
	if d.BodySize > 0 {
		if err := s.addBlob(ctx, x.key.Tenant, d); err != nil {
			return err
		}
	}
	var find1, find2 any
	if d.Label != "" {
		find1, find2 = findKeys(x.key.Tenant, d.Kind, d.Label)
	}
	result, err := s.write.addEntry.ExecContext(ctx, x.id, d.Seq, d.prev, column(d.Kind), column(d.Label), d.Time.UnixMilli(),
		d.BodySize, hashColumn(d.BodyHash), hashColumn(d.textHash), find1, find2, d.sum(x.key), column(d.Data))
	if err != nil {
		return err
	}
	if x.newest, err = result.LastInsertId(); err != nil {
		return err
	}
	x.kinds[d.Kind] = d.Seq
	x.bytes += int64(d.BodySize)
	x.last = d.Time.UnixMilli()
	if d.textHash.IsZero() || d.textHash == d.BodyHash {
		return nil
	}
	_, err = s.write.addText.ExecContext(ctx, x.newest, d.text.Size, d.text.Codec, d.text.Data)
	return err
}

// addPending notes entries whose texts are to be indexed, all in one statement.
func (s *Store) addPending(ctx context.Context, x *session, entries []int64) error {
	if len(entries) == 0 {
		return nil
	}
	list, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	_, err = s.write.addPending.ExecContext(ctx, x.id, string(list))
	return err
}

// addBlob stores a body unless the tenant has it. One that is there is read first: an
// Append must not rely on bytes that have gone bad, and can mend them.
func (s *Store) addBlob(ctx context.Context, tenant string, d *draft) error {
	result, err := s.write.addBlob.ExecContext(ctx, column(tenant), d.BodyHash[:], d.body.Size, d.body.Codec, d.body.Data)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	var there packed.Blob
	err = s.write.getBlob.QueryRowContext(ctx, d.BodyHash[:], column(tenant)).Scan(&there.Size, &there.Codec, &there.Data)
	if err == nil {
		if _, err = there.Unpack(d.BodySize, d.BodyHash); err == nil {
			return nil
		}
	}
	if code(err) != 0 || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	s.log.Warn("mended a damaged body", "path", s.path, "hash", d.BodyHash)
	_, err = s.write.setBlob.ExecContext(ctx, d.body.Size, d.body.Codec, d.body.Data, d.BodyHash[:], column(tenant))
	return err
}
