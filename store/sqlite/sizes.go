package sqlite

import (
	"context"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Sizes implements [store.Sizer]. It walks over every page of the file.
func (s *Store) Sizes(ctx context.Context) (out store.Sizes, err error) {
	err = s.base.Do(ctx, func() error {
		tx, err := s.read.BeginTx(ctx, nil) // all of it at one moment
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := tx.QueryRowContext(ctx, "PRAGMA page_count").Scan(&out.Bytes); err != nil {
			return err
		}
		out.Bytes *= pageSize
		if out.Tenants, err = rows.Collect(rows.Each(tx.QueryContext(ctx, selectTenantSizes)), rows.ReadTenantSize); err != nil {
			return err
		}
		out.Tables, err = rows.ReadTables(rows.Each(tx.QueryContext(ctx, selectTables)), func(name string) rows.Scanner {
			if name == "word" {
				name = "word_docsize"
			}
			return tx.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`)
		})
		return err
	}, "measure store %s", s.path)
	return out, err
}

const selectTenantSizes = `SELECT s.tenant, s.sessions, s.entries, s.bytes, coalesce(b.bodies, 0), coalesce(b.stored, 0)
	FROM (SELECT tenant, count(*) AS sessions, sum(head) AS entries, sum(bytes) AS bytes FROM session GROUP BY tenant) s
	LEFT JOIN (SELECT tenant, count(*) AS bodies, sum(length(data)) AS stored FROM blob GROUP BY tenant) b ON b.tenant = s.tenant
	ORDER BY s.tenant`

// selectTables sums up the pages of each table and its indexes. The tables that the
// full-text search has beneath it are one: word. The rows are counted afterwards.
const selectTables = `SELECT name, -1, sum(pgsize * NOT is_index), sum(pgsize * is_index) FROM (
	SELECT CASE WHEN coalesce(o.tbl_name, d.name) GLOB 'word_*' THEN 'word' ELSE coalesce(o.tbl_name, d.name) END AS name,
		coalesce(o.type = 'index' AND o.sql IS NOT NULL, 0) AS is_index, d.pgsize
	FROM dbstat d LEFT JOIN sqlite_schema o ON o.name = d.name WHERE d.aggregate = TRUE) GROUP BY name`
