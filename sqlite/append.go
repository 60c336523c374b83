package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
		var err error
		head, err = s.appendDrafts(ctx, key, last, drafts)
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

// appendDrafts runs in a write transaction.
func (s *Store) appendDrafts(ctx context.Context, key pleat.SessionKey, last uint64, drafts []draft) (uint64, error) {
	x, err := s.sessionForWriting(ctx, key)
	if err != nil {
		return 0, err
	}
	head := uint64(0)
	if x != nil {
		head = x.head
	}
	if head != last {
		return 0, fmt.Errorf("after entry %d: its last entry is %d: %w", last, head, pleat.ErrConflict)
	}
	if len(drafts) == 0 {
		return head, nil
	}
	if x == nil {
		if x, err = s.addSession(ctx, key, drafts[0].Time); err != nil {
			return 0, err
		}
	}
	var pending []int64 // entries to index
	for i := range drafts {
		if err := s.addEntry(ctx, x, &drafts[i]); err != nil {
			return 0, fmt.Errorf("entry %d: %w", x.head, err)
		}
		if !drafts[i].textHash.IsZero() {
			pending = append(pending, x.newest)
		}
	}
	if err := s.addPending(ctx, x, pending); err != nil {
		return 0, err
	}
	_, err = s.write.setSession.ExecContext(ctx, x.head, packed.EncodeKinds(x.kinds), x.bytes, x.first, x.last, x.newest, x.sum(), x.id)
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
