package rows

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
)

// ReadTenantSize reads the columns tenant, sessions, entries, bytes, bodies and stored.
func ReadTenantSize(row Scanner) (t pleat.TenantSize, err error) {
	var name []byte
	err = row.Scan(&name, &t.Sessions, &t.Entries, &t.BodyBytes, &t.Bodies, &t.Stored)
	t.Tenant = string(name)
	return t, err
}

// SortTables puts the largest table first.
func SortTables(list []pleat.TableSize) {
	slices.SortFunc(list, func(a, b pleat.TableSize) int {
		return cmp.Or(cmp.Compare(b.Data+b.Indexes, a.Data+a.Indexes), strings.Compare(a.Name, b.Name))
	})
}
