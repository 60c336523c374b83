package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (t tables) Session(ctx context.Context, key store.SessionKey) (*rows.Session, error) {
	if err := t.base.Enter(ctx); err != nil {
		return nil, err
	}
	defer t.base.Leave()
	tenant, name := rows.Column(key.Tenant), rows.Column(key.Session)
	x, err := t.base.ReadSessionOf(key, t.query.sessionByName.QueryRowContext(ctx, tenant, name))
	if x != nil || err != nil {
		return x, err
	}
	// That there is none is confirmed by the second index, at one moment.
	tx, err := t.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	x, err = t.base.ReadSessionOf(key, tx.QueryRowContext(ctx, selectSessionByName, tenant, name))
	if x != nil || err != nil {
		return x, err
	}
	return nil, t.confirmNone(key, tx.QueryRowContext(ctx, selectSessionByHash, rows.SessionHash(key)))
}

// Scan implements [store.Store].
func (s *Store) Scan(ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind) iter.Seq2[store.Entry, error] {
	return s.base.Scan(ctx, key, from, kinds)
}

func (t tables) Page(ctx context.Context, x *rows.Session, from uint64, most int, kinds []store.EntryKind) (page []*rows.Record, err error) {
	if err := t.base.Enter(ctx); err != nil {
		return nil, err
	}
	defer t.base.Leave()
	var list *sql.Rows
	if len(kinds) == 0 {
		list, err = t.query.entries.QueryContext(ctx, x.ID, from, most)
	} else {
		args := []any{x.ID, from}
		for _, kind := range kinds {
			args = append(args, rows.Column(kind))
		}
		text := selectEntries + " AND e.kind IN (" + placeholders(len(kinds)) + ") ORDER BY e.seq LIMIT ?"
		list, err = t.read.QueryContext(ctx, text, append(args, most)...)
	}
	size := 0
	for row, err := range rows.Each(list, err) {
		if err != nil {
			return page, err
		}
		r, err := t.base.ReadEntry(row, x.Key)
		if err != nil {
			return page, err
		}
		page = append(page, r)
		if size += len(r.Data); size >= rows.PageBytes {
			break
		}
	}
	return page, nil
}

// Body implements [store.Store].
func (s *Store) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	body, err := s.body(ctx, key, hash)
	return body, s.base.Fail(ctx, err, "read body %v of session %q", hash, key)
}

func (s *Store) body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	x, err := tables{s}.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return nil, store.ErrNotFound
	}
	body, err := s.bodyByIndex(ctx, x, hash)
	if !errors.Is(err, store.ErrNotFound) {
		return body, err
	}
	// The index says no. Before that is believed, the session itself is asked.
	for r, err := range s.base.Records(ctx, key, 1, nil) {
		if err != nil {
			return nil, err
		}
		if r.BodyHash == hash && !hash.IsZero() && r.ID <= x.Newest {
			return nil, s.base.Corrupt("session %q: the body of entry %d is missing in an index", key, r.Seq)
		}
	}
	return nil, store.ErrNotFound
}

func (s *Store) bodyByIndex(ctx context.Context, x *rows.Session, hash transcript.Hash) ([]byte, error) {
	if err := s.base.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.base.Leave()
	var data sql.RawBytes // only rows, not a row, can be read without a copy
	for row, err := range rows.Each(s.query.body.QueryContext(ctx, rows.Column(x.Key.Tenant), hash[:], x.ID)) {
		if err != nil {
			return nil, err
		}
		return rows.ReadBody(&s.base, row, x.Key, hash, &data)
	}
	return nil, store.ErrNotFound
}
