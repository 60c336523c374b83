package postgres

import (
	"context"
	"slices"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// selectFound finds the newest entry for each key, and only those of the tenant.
const selectFound = "SELECT " + entryColumns + `, s.tenant, s.name FROM unnest($1::bytea[]) AS k(find)
	CROSS JOIN LATERAL (SELECT * FROM pleat.entry n WHERE n.find = k.find ORDER BY n.moment DESC, n.seq DESC LIMIT 1) e
	JOIN pleat.session s ON s.id = e.session WHERE s.owner = $2 AND s.tenant = $3`

// Find implements [store.Store].
func (s *Store) Find(ctx context.Context, tenant string, kind store.EntryKind, labels ...string) ([]store.Found, error) {
	return s.base.Find(ctx, tenant, kind, labels)
}

func (t tables) Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error) {
	keys := make([][]byte, len(labels))
	for i, label := range labels {
		keys[i] = rows.FindKey(tenant, kind, label)
	}
	asked := func(r *rows.Record) bool {
		_, ok := slices.BinarySearch(labels, r.Label)
		return ok
	}
	read := func(row rows.Scanner) (store.Found, error) { return t.base.ReadFound(row, tenant, kind, asked) }
	return collect(ctx, t.retry, read, selectFound, keys, ownerOf(tenant), rows.Column(tenant))
}
