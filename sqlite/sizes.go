package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
)

// Sizes implements [pleat.Sizer]. It walks over every page of the file.
func (s *Store) Sizes(ctx context.Context) (pleat.Sizes, error) {
	if err := s.enter(ctx); err != nil {
		return pleat.Sizes{}, s.fail(ctx, err, "measure store %s", s.path)
	}
	defer s.work.Done()
	sizes, err := s.sizes(ctx)
	return sizes, s.fail(ctx, err, "measure store %s", s.path)
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
	if out.Tenants, err = tenantSizes(ctx, tx); err != nil {
		return out, err
	}
	out.Tables, err = tableSizes(ctx, tx)
	return out, err
}

func tenantSizes(ctx context.Context, tx *sql.Tx) ([]pleat.TenantSize, error) {
	rows, err := tx.QueryContext(ctx, `SELECT s.tenant, s.sessions, s.entries, s.bytes, coalesce(b.bodies, 0), coalesce(b.stored, 0)
		FROM (SELECT tenant, count(*) AS sessions, sum(head) AS entries, sum(bytes) AS bytes FROM session GROUP BY tenant) s
		LEFT JOIN (SELECT tenant, count(*) AS bodies, sum(length(data)) AS stored FROM blob GROUP BY tenant) b ON b.tenant = s.tenant
		ORDER BY s.tenant`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []pleat.TenantSize
	for rows.Next() {
		var t pleat.TenantSize
		var name []byte
		if err := rows.Scan(&name, &t.Sessions, &t.Entries, &t.BodyBytes, &t.Bodies, &t.Stored); err != nil {
			return nil, err
		}
		t.Tenant = string(name)
		list = append(list, t)
	}
	return list, rows.Err()
}

// tableSizes sums up the pages of each table and its indexes. The tables that the
// full-text search has beneath it are one: word.
func tableSizes(ctx context.Context, tx *sql.Tx) ([]pleat.TableSize, error) {
	rows, err := tx.QueryContext(ctx, `SELECT coalesce(o.tbl_name, d.name), coalesce(o.type = 'index' AND o.sql IS NOT NULL, 0), d.pgsize
		FROM dbstat d LEFT JOIN sqlite_schema o ON o.name = d.name WHERE d.aggregate = TRUE`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sizes := make(map[string]*pleat.TableSize)
	for rows.Next() {
		var name string
		var index bool
		var size int64
		if err := rows.Scan(&name, &index, &size); err != nil {
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
	if err := rows.Err(); err != nil {
		return nil, err
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
	slices.SortFunc(list, func(a, b pleat.TableSize) int {
		return cmp.Or(cmp.Compare(b.Data+b.Indexes, a.Data+a.Indexes), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}
