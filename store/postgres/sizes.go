package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Sizes implements [store.Sizer]. It reads the table of sessions and that of bodies, the
// latter without the bodies that lie out of line.
func (s *Store) Sizes(ctx context.Context) (out store.Sizes, err error) {
	err = inTx(ctx, s.read, snapshot, func(tx pgx.Tx) (err error) {
		// Here whole tables are read, and that takes its time.
		if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0", "SET LOCAL enable_seqscan = on"); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&out.Bytes); err != nil {
			return err
		}
		if out.Tenants, err = rows.Collect(rows.Each(tx.Query(ctx, selectTenantSizes)), rows.ReadTenantSize); err != nil {
			return err
		}
		out.Tables, err = rows.ReadTables(rows.Each(tx.Query(ctx, selectTables)), func(name string) rows.Scanner {
			return tx.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{"pleat", name}.Sanitize())
		})
		return err
	})
	return out, s.base.Fail(ctx, err, "measure store %s", s.name)
}

const selectTenantSizes = `SELECT s.tenant, s.sessions, s.entries, s.bytes, coalesce(b.bodies, 0), coalesce(b.stored, 0)
	FROM (SELECT tenant, owner, count(*) AS sessions, sum(head)::bigint AS entries, sum(bytes)::bigint AS bytes
		FROM pleat.session GROUP BY tenant, owner) s
	LEFT JOIN (SELECT owner, count(*) AS bodies, sum(octet_length(data))::bigint AS stored FROM pleat.blob GROUP BY owner) b USING (owner)
	ORDER BY s.tenant`

// selectTables asks the catalogue. How many rows a table has it knows from the last VACUUM
// or ANALYZE; of one that had neither they are counted.
const selectTables = `SELECT c.relname, c.reltuples::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid)
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'pleat' AND c.relkind IN ('r', 'p')`
