package rows

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/store"
)

// ReadTenantSize reads the columns tenant, sessions, entries, bytes, bodies and stored.
func ReadTenantSize(row Scanner) (t store.TenantSize, err error) {
	var name []byte
	err = row.Scan(&name, &t.Sessions, &t.Entries, &t.BodyBytes, &t.Bodies, &t.Stored)
	t.Tenant = string(name)
	return t, err
}

// ReadTables reads the columns name, rows, data and indexes of tables. If rows is below
// zero, count counts them. The largest table comes first.
func ReadTables(list List, count func(name string) Scanner) ([]store.TableSize, error) {
	tables, err := Collect(list, func(row Scanner) (t store.TableSize, err error) {
		err = row.Scan(&t.Name, &t.Rows, &t.Data, &t.Indexes)
		return t, err
	})
	for i, t := range tables {
		if err == nil && t.Rows < 0 {
			err = count(t.Name).Scan(&tables[i].Rows)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tables, func(a, b store.TableSize) int {
		return cmp.Or(cmp.Compare(b.Data+b.Indexes, a.Data+a.Indexes), strings.Compare(a.Name, b.Name))
	})
	return tables, nil
}
