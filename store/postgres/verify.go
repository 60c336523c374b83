package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Verify implements [store.Keeper]. It reads every session, entry, text and body and
// compares them with their checksums, in small steps: the store can be in use.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Damage, error] {
	return s.base.Verify(ctx, func(error) bool { return false })
}

var pages = rows.Pages{
	Sessions: "SELECT " + rows.SessionColumns + " FROM pleat.session s WHERE s.id > $1 ORDER BY s.id LIMIT $2",
	Entries: "SELECT " + entryColumns + `, b.size FROM pleat.entry e JOIN pleat.session s ON s.id = e.session
		LEFT JOIN pleat.blob b ON b.hash = e.body AND b.owner = s.owner
		WHERE e.session = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3`,
	Bodies: `SELECT hash, owner, ''::bytea, hash, size, codec, data FROM pleat.blob
		WHERE (hash, owner) > ($1, $2) ORDER BY hash, owner LIMIT $3`,
	Tenants:   "SELECT DISTINCT tenant FROM pleat.session ORDER BY tenant",
	Sealer:    "SELECT " + sealer,
	FirstBody: [2]any{[]byte{}, math.MinInt64},
	Orphans: `SELECT e.session, count(*) FROM pleat.entry e WHERE e.session > $1
		AND NOT EXISTS (SELECT 1 FROM pleat.session s WHERE s.id = e.session) GROUP BY e.session ORDER BY e.session LIMIT $2`,
}

func (t tables) Read(ctx context.Context, read func(rows.List) error, query string, args ...any) error {
	return inTx(ctx, t.read, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0"); err != nil {
			return err
		}
		return read(rows.Each(tx.Query(ctx, query, args...)))
	})
}

func (t tables) CheckText(ctx context.Context, x *rows.Session, r *rows.Record) error {
	return t.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, _, err := t.base.ReadText(conn.QueryRow(ctx, selectText, x.ID, int64(r.Seq)))
		return err
	})
}
