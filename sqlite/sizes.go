package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/rows"
)

// Sizes implements [pleat.Sizer]. It walks over every page of the file.
func (s *Store) Sizes(ctx context.Context) (sizes pleat.Sizes, err error) {
	err = s.base.Do(ctx, func() error {
		sizes, err = s.sizes(ctx)
		return err
	}, "measure store %s", s.path)
	return sizes, err
}

func (s *Store) sizes(ctx context.Context) (out pleat.Sizes, err error) {
	tx, err := s.read.BeginTx(ctx, nil) // all of it at one moment
	if err != nil {
		return out, err
	}
	defer tx.Rollback()
	var pages int64
	if err := tx.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return out, err
	}
	out.Bytes = pages * pageSize
	out.Tenants, err = rows.Collect(rows.Each(tx.QueryContext(ctx, `
		SELECT s.tenant, s.sessions, s.entries, s.bytes, coalesce(b.bodies, 0), coalesce(b.stored, 0)
		FROM (SELECT tenant, count(*) AS sessions, sum(head) AS entries, sum(bytes) AS bytes FROM session GROUP BY tenant) s
		LEFT JOIN (SELECT tenant, count(*) AS bodies, sum(length(data)) AS stored FROM blob GROUP BY tenant) b ON b.tenant = s.tenant
		ORDER BY s.tenant`)), rows.ReadTenantSize)
	if err != nil {
		return out, err
	}
	out.Tables, err = tableSizes(ctx, tx)
	return out, err
}

// tableSizes sums up the pages of each table and its indexes. The tables that the
// full-text search has beneath it are one: word.
func tableSizes(ctx context.Context, tx *sql.Tx) ([]pleat.TableSize, error) {
	sizes := make(map[string]*pleat.TableSize)
	for row, err := range rows.Each(tx.QueryContext(ctx, `SELECT coalesce(o.tbl_name, d.name), coalesce(o.type = 'index' AND o.sql IS NOT NULL, 0), d.pgsize
		FROM dbstat d LEFT JOIN sqlite_schema o ON o.name = d.name WHERE d.aggregate = TRUE`)) {
		if err != nil {
			return nil, err
		}
		var name string
		var index bool
		var size int64
		if err := row.Scan(&name, &index, &size); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "word_") {
			name = "word"
		}
		t := sizes[name]
		if t == nil {
			t = &pleat.TableSize{Name: name}
			sizes[name] = t
		}
		if index {
			t.Indexes += size
		} else {
			t.Data += size
		}
	}
	var list []pleat.TableSize
	for _, t := range sizes {
		counted := t.Name
		if counted == "word" {
			counted = "word_docsize"
		}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM "`+counted+`"`).Scan(&t.Rows); err != nil {
			return nil, err
		}
		list = append(list, *t)
	}
	rows.SortTables(list)
	return list, nil
}
