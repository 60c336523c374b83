package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Verify implements [store.Keeper]. It reads the whole file: SQLite's own check of all
// pages and indexes, then every session, entry, body and text against their checksums.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Damage, error] {
	return func(yield func(store.Damage, error) bool) {
		if err := s.base.Enter(ctx); err != nil {
			yield(store.Damage{}, fmt.Errorf("verify %s: %w", s.path, err))
			return
		}
		defer s.base.Leave()
		damaged := func(err error) bool { return code(err) != 0 && errors.Is(s.base.Explain(err), store.ErrCorrupt) }
		s.base.Verify(ctx, damaged, func(v *rows.Verifier) error { return s.checkPages(ctx, v) })(yield)
	}
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

// each runs f for every row of a query.
func (t tables) each(ctx context.Context, f func(row rows.Scanner) error, query string, args ...any) error {
	for row, err := range rows.Each(t.read.QueryContext(ctx, query, args...)) {
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t tables) EachSession(ctx context.Context, f func(x *rows.Session, err error) error) error {
	type read struct {
		x   *rows.Session
		err error
	}
	all, err := rows.Collect(rows.Each(t.read.QueryContext(ctx, "SELECT "+rows.SessionColumns+" FROM session s NOT INDEXED")),
		func(row rows.Scanner) (read, error) {
			x, err := t.base.ReadSession(row)
			return read{x, err}, nil
		})
	for _, r := range all { // also before an error
		if err := f(r.x, r.err); err != nil {
			return err
		}
	}
	return err
}

func (t tables) EachEntry(ctx context.Context, x *rows.Session, f func(r *rows.Record, body *int64, err error) error) error {
	return t.each(ctx, func(row rows.Scanner) error {
		var body *int64
		r, err := t.base.ReadEntry(row, x.Key, &body)
		return f(r, body, err)
	}, "SELECT "+entryColumns+`, b.size FROM entry e INDEXED BY entry_seq
		LEFT JOIN blob b ON b.hash = e.body AND b.tenant = ? WHERE e.session = ? ORDER BY e.seq`, rows.Column(x.Key.Tenant), x.ID)
}

func (t tables) CheckText(ctx context.Context, _ *rows.Session, r *rows.Record) error {
	_, _, err := t.base.ReadText(t.read.QueryRowContext(ctx, selectText, r.ID))
	return err
}

func (t tables) EachBody(ctx context.Context, f func(tenant string, hash []byte, body rows.Blob, err error) error) error {
	return t.each(ctx, func(row rows.Scanner) error {
		var tenant, hash []byte
		var b rows.Blob
		err := row.Scan(&tenant, &hash, &b.Size, &b.Codec, &b.Data)
		return f(string(tenant), hash, b, err)
	}, "SELECT tenant, hash, size, codec, data FROM blob NOT INDEXED")
}

func (t tables) EachOrphan(ctx context.Context, f func(session, entries int64) error) error {
	return t.each(ctx, func(row rows.Scanner) error {
		var session, entries int64
		if err := row.Scan(&session, &entries); err != nil {
			return err
		}
		return f(session, entries)
	}, "SELECT e.session, count(*) FROM entry e WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = e.session) GROUP BY e.session")
}
