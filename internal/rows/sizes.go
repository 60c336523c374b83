package rows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/store"
)

// SizeQueries measure a store.
type SizeQueries struct {
	Bytes   string // of the file or database
	Tenants string // tenant, sessions, entries, bytes, bodies and stored, in order of tenant
	Tables  string // name, rows, data and indexes; rows below zero are counted
	Rows    string // counts the rows of the table that is put in place of %s
}

// Sizes implements [store.Sizer]. It may read all of the store.
func (c Calls) Sizes(ctx context.Context) (out store.Sizes, err error) {
	q := c.b.Sizes
	one := func(n *int64, query string) {
		if err == nil {
			err = c.b.tables.Read(ctx, func(list List) error {
				_, err := Collect(list, func(row Scanner) (any, error) { return nil, row.Scan(n) })
				return err
			}, query)
		}
	}
	one(&out.Bytes, q.Bytes)
	if err == nil {
		out.Tenants, err = readAll(ctx, c.b, q.Tenants, func(row Scanner) (t store.TenantSize, err error) {
			var name []byte
			err = row.Scan(&name, &t.Sessions, &t.Entries, &t.BodyBytes, &t.Bodies, &t.Stored)
			t.Tenant = string(name)
			return t, err
		})
	}
	if err == nil {
		out.Tables, err = readAll(ctx, c.b, q.Tables, func(row Scanner) (t store.TableSize, err error) {
			err = row.Scan(&t.Name, &t.Rows, &t.Data, &t.Indexes)
			return t, err
		})
	}
	for i, t := range out.Tables {
		if t.Rows < 0 {
			one(&out.Tables[i].Rows, fmt.Sprintf(q.Rows, t.Name))
		}
	}
	slices.SortFunc(out.Tables, func(a, b store.TableSize) int {
		return cmp.Or(cmp.Compare(b.Data+b.Indexes, a.Data+a.Indexes), strings.Compare(a.Name, b.Name))
	})
	return out, c.b.Fail(ctx, err, "measure store %s", c.b.Name)
}

// readAll reads all rows of a query over a whole store.
func readAll[T any](
	ctx context.Context, b *Base, query string, read func(row Scanner) (T, error), args ...any,
) (all []T, err error) {
	err = b.tables.Read(ctx, func(list List) (err error) {
		all, err = Collect(list, read)
		return err
	}, query, args...)
	return all, err
}
