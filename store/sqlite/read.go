package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	tenant, name := rows.Column(key.Tenant), rows.Column(key.Session)
	x, err := t.base.ReadSessionOf(key, t.query.sessionByName.QueryRowContext(ctx, tenant, name))
	if x != nil || err != nil {
		return x, err
	}
	// The second index confirms, in one transaction, that there is none.
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
	for row, err := range rows.Each(s.query.body.QueryContext(ctx, rows.Column(x.Key.Tenant), hash[:], x.ID)) {
		if err != nil {
			return nil, err
		}
		return rows.ReadBody(&s.base, row, x.Key, hash, &data)
	}
	return nil, store.ErrNotFound
}

// Find asks both indexes in one transaction. They must agree on which entries exist and
// which is the newest.
func (t tables) Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error) {
	keys1, keys2 := make([]any, len(labels)), make([]any, len(labels))
	for i, label := range labels {
		keys1[i], keys2[i] = findKeys(tenant, kind, label)
	}
	if len(labels) <= findFew { // a proxy asks about the newest messages, which are nearly always new
		any, err := t.findsAny(ctx, keys1, keys2)
		if err != nil || !any {
			return nil, err
		}
	}
	tx, err := t.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	newest1, err := newestBy(ctx, tx, "find1", keys1)
	if err != nil {
		return nil, err
	}
	newest2, err := newestBy(ctx, tx, "find2", keys2)
	if err != nil {
		return nil, err
	}
	labelOf := make(map[int64]string, len(newest1))
	var ids []any
	for i, label := range labels {
		id := newest1[keys1[i].(int64)]
		if id != newest2[keys2[i].(int64)] {
			return nil, t.base.Corrupt("the indexes disagree on the %s entry %q", kind, label)
		}
		if id != 0 {
			labelOf[id] = label
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list := rows.Each(tx.QueryContext(ctx, "SELECT "+entryColumns+", s.tenant, s.name FROM entry e JOIN session s ON s.id = e.session WHERE e.id IN ("+
		placeholders(len(ids))+")", ids...))
	found, err := rows.Collect(list, func(row rows.Scanner) (store.Found, error) {
		return t.base.ReadFound(row, tenant, kind, func(r *rows.Record) bool { return r.Label == labelOf[r.ID] })
	})
	if err == nil && len(found) != len(ids) {
		err = t.base.Corrupt("%d of %d %s entries that an index knows are missing", len(ids)-len(found), len(ids), kind)
	}
	return found, err
}

// findsAny reports whether either index has one of a few keys.
func (t tables) findsAny(ctx context.Context, keys1, keys2 []any) (found bool, err error) {
	few := make([]any, 2*findFew)
	for i := range findFew {
		few[i], few[findFew+i] = keys1[i%len(keys1)], keys2[i%len(keys2)]
	}
	err = t.query.find.QueryRowContext(ctx, few...).Scan(&found)
	return found, err
}

// newestBy returns the newest entry for each key that has one.
func newestBy(ctx context.Context, tx *sql.Tx, field string, keys []any) (map[int64]int64, error) {
	newest := make(map[int64]int64)
	for row, err := range rows.Each(tx.QueryContext(ctx, fmt.Sprintf(
		"SELECT %[1]s, max(id) FROM entry INDEXED BY entry_%[1]s WHERE %[1]s IN (%[2]s) GROUP BY %[1]s", field, placeholders(len(keys))), keys...)) {
		if err != nil {
			return nil, err
		}
		var key, id int64
		if err := row.Scan(&key, &id); err != nil {
			return nil, err
		}
		newest[key] = id
	}
	return newest, nil
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }
