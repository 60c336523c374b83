package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Verify implements [store.Keeper]. It reads the whole file: SQLite's own check of all
// pages and indexes, then every session, entry, body and text against their checksums.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Damage, error] {
	damaged := func(err error) bool { return code(err) != 0 && errors.Is(s.base.Explain(err), store.ErrCorrupt) }
	return s.base.Verify(ctx, damaged, func(v *rows.Verifier) error {
		return s.base.Call(ctx, func() error { return s.checkPages(ctx, v) })
	})
}

// checkPages lets SQLite check its pages and indexes, including the search index. It uses
// a connection of its own: on one that has searched before, FTS5 compares with a cached
// state of the index, and takes what others have written since for damage.
func (s *Store) checkPages(ctx context.Context, v *rows.Verifier) error {
	db, err := sql.Open("sqlite", s.source(append([]string{s.timeoutPragma()}, readerPragmas...)))
	if err != nil {
		return err
	}
	defer db.Close()
	for row, err := range rows.Each(db.QueryContext(ctx, "PRAGMA integrity_check(100)")) {
		if err != nil {
			return err
		}
		what, err := rows.Text(row)
		if err == nil && what != "ok" {
			err = v.Report(store.SessionKey{}, 0, "%s: %s", s.path, what)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pages read the tables themselves where they can: checkPages compares them with the indexes.
var pages = rows.Pages{
	Sessions: "SELECT " + rows.SessionColumns + " FROM session s NOT INDEXED WHERE s.id > ? ORDER BY s.id LIMIT ?",
	Entries: "SELECT " + entryColumns + `, b.size FROM entry e INDEXED BY entry_seq JOIN session s ON s.id = e.session
		LEFT JOIN blob b ON b.hash = e.body AND b.tenant = s.tenant WHERE e.session = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`,
	Bodies: "SELECT id, id, tenant, hash, size, codec, data FROM blob NOT INDEXED " +
		"WHERE id > max($1, $2) ORDER BY id LIMIT $3",
	Tenants:   "SELECT DISTINCT tenant FROM session ORDER BY tenant",
	Sealer:    "SELECT token FROM claim WHERE work = CAST('sealed' AS BLOB)",
	FirstBody: [2]any{math.MinInt64, math.MinInt64},
	Orphans: `SELECT e.session, count(*) FROM entry e WHERE e.session > ?
		AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = e.session) GROUP BY e.session ORDER BY e.session LIMIT ?`,
}

func (t tables) Read(ctx context.Context, read func(rows.List) error, query string, args ...any) error {
	return t.base.Call(ctx, func() error { return read(rows.Each(t.read.QueryContext(ctx, query, args...))) })
}

func (t tables) CheckText(ctx context.Context, _ *rows.Session, r *rows.Record) error {
	return t.base.Call(ctx, func() error {
		_, _, err := t.base.ReadText(t.read.QueryRowContext(ctx, selectText, r.ID))
		return err
	})
}
