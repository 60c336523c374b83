package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (t tables) Session(ctx context.Context, key store.SessionKey) (*rows.Session, error) {
	if err := t.base.Enter(ctx); err != nil {
		return nil, err
	}
	defer t.base.Leave()
	return t.session(ctx, t.query[selectSession], key)
}

// session finds a session by both indexes, in one statement, which sees one moment: they must
// agree. A session that fails its check is returned with the error, if it could be read.
func (s *Store) session(ctx context.Context, find *sql.Stmt, key store.SessionKey) (x *rows.Session, err error) {
	list, err := find.QueryContext(ctx, sessionArgs(key)...)
	n := 0
	for row, err := range rows.Each(list, err) {
		if err == nil {
			x, err = s.base.ReadSession(row)
		}
		if err != nil {
			return x, s.base.In(err, "session %q", key)
		}
		if n++; x.Key != key {
			return nil, s.base.Corrupt("session %q: its index leads to session %q", key, x.Key)
		}
	}
	if n == 1 {
		return x, s.base.Corrupt("session %q is missing in an index", key)
	}
	return x, nil
}

// current is a session as a write transaction sees it.
func (s *Store) current(ctx context.Context, key store.SessionKey) (*rows.Session, error) {
	find, err := s.stmt(ctx, selectSession)
	if err != nil {
		return nil, err
	}
	return s.session(ctx, find, key)
}

func sessionArgs(key store.SessionKey) []any {
	return []any{rows.Column(key.Tenant), rows.Column(key.Session), rows.SessionHash(key)}
}

func (t tables) Page(
	ctx context.Context, x *rows.Session, from uint64, most int, kinds []store.EntryKind,
) (page []*rows.Record, err error) {
	if err := t.base.Enter(ctx); err != nil {
		return nil, err
	}
	defer t.base.Leave()
	var list *sql.Rows
	if len(kinds) == 0 {
		list, err = t.query[selectPage].QueryContext(ctx, x.ID, from, most)
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
	// The index does not have it. To be sure, look through the session itself.
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
	for row, err := range rows.Each(s.query[selectBody].QueryContext(ctx, rows.Column(x.Key.Tenant), hash[:], x.ID)) {
		if err != nil {
			return nil, err
		}
		return rows.ReadBody(&s.base, row, x.Key, hash, &data)
	}
	return nil, store.ErrNotFound
}

// Find asks both indexes in one statement. They must agree on which entry is the newest.
func (t tables) Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error) {
	keys := make([][2]int64, len(labels))
	for i, label := range labels {
		keys[i][0], keys[i][1] = findKeys(tenant, kind, label)
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var label int
	var second *int64 // what the second index leads to
	asked := func(r *rows.Record) bool { return r.Label == labels[label] && second != nil && r.ID == *second }
	read := func(row rows.Scanner) (store.Found, error) {
		return t.base.ReadFound(row, tenant, kind, asked, &label, &second)
	}
	return rows.Collect(rows.Each(t.query[selectFound].QueryContext(ctx, string(list))), read)
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }
