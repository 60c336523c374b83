package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// verifyRows is how many rows Verify reads at once: few, since rows can be large. It
// reports what it finds after it has released the connection.
const verifyRows = 64

// Verify implements [store.Keeper]. It reads every session, entry, text and body and
// compares them with their checksums, in small steps: the store can be in use.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Damage, error] {
	return s.base.Verify(ctx, func(error) bool { return false })
}

// pages runs f for the rows of a query, which it reads page by page: after returns the
// arguments that select the rows after one.
func pages[T any](ctx context.Context, t tables, read func(row rows.Scanner) (T, error), f func(T) error, last T, after func(last T) []any, query string) error {
	for {
		page, err := collect(ctx, t.read, read, query, append(after(last), verifyRows)...)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, last = range page {
			if err := f(last); err != nil {
				return err
			}
		}
	}
}

func (t tables) EachSession(ctx context.Context, f func(x *rows.Session, err error) error) error {
	type checked struct {
		*rows.Session
		err error
	}
	return pages(ctx, t, func(row rows.Scanner) (c checked, err error) {
		if c.Session, err = t.base.ReadSession(row); c.Session != nil {
			c.err, err = err, nil
		}
		return c, err
	}, func(c checked) error { return f(c.Session, c.err) },
		checked{Session: &rows.Session{ID: -1 << 63}}, func(c checked) []any { return []any{c.ID} },
		"SELECT "+rows.SessionColumns+" FROM pleat.session s WHERE s.id > $1 ORDER BY s.id LIMIT $2")
}

func (t tables) EachEntry(ctx context.Context, x *rows.Session, f func(r *rows.Record, body *int64, err error) error) error {
	type checked struct {
		*rows.Record
		body *int64
		err  error
	}
	return pages(ctx, t, func(row rows.Scanner) (c checked, err error) {
		if c.Record, err = t.base.ReadEntry(row, x.Key, &c.body); c.Record != nil {
			c.err, err = err, nil
		}
		return c, err
	}, func(c checked) error { return f(c.Record, c.body, c.err) },
		checked{Record: &rows.Record{}}, func(c checked) []any { return []any{x.ID, ownerOf(x.Key.Tenant), int64(c.Seq)} },
		"SELECT "+entryColumns+`, b.size FROM pleat.entry e LEFT JOIN pleat.blob b ON b.hash = e.body AND b.owner = $2
		WHERE e.session = $1 AND e.seq > $3 ORDER BY e.seq LIMIT $4`)
}

func (t tables) CheckText(ctx context.Context, x *rows.Session, r *rows.Record) error {
	return t.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, _, err := t.base.ReadText(conn.QueryRow(ctx, selectText, x.ID, int64(r.Seq)))
		return err
	})
}

func (t tables) EachBody(ctx context.Context, f func(tenant string, hash []byte, body rows.Blob, err error) error) error {
	type stored struct {
		rows.Blob
		hash  []byte
		owner int64
	}
	return pages(ctx, t, func(row rows.Scanner) (b stored, err error) {
		err = row.Scan(&b.hash, &b.owner, &b.Size, &b.Codec, &b.Data)
		return b, err
	}, func(b stored) error { return f("", b.hash, b.Blob, nil) },
		stored{hash: []byte{}}, func(b stored) []any { return []any{b.hash, b.owner} },
		"SELECT hash, owner, size, codec, data FROM pleat.blob WHERE (hash, owner) > ($1, $2) ORDER BY hash, owner LIMIT $3")
}

func (t tables) EachOrphan(ctx context.Context, f func(session, entries int64) error) error {
	var found [][2]int64
	err := inTx(ctx, t.read, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
		if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0"); err != nil {
			return err
		}
		found, err = rows.Collect(rows.Each(tx.Query(ctx, `SELECT e.session, count(*) FROM pleat.entry e
			WHERE NOT EXISTS (SELECT 1 FROM pleat.session s WHERE s.id = e.session) GROUP BY e.session`)),
			func(row rows.Scanner) (v [2]int64, err error) {
				err = row.Scan(&v[0], &v[1])
				return v, err
			})
		return err
	})
	for _, v := range found {
		if err == nil {
			err = f(v[0], v[1])
		}
	}
	return err
}
