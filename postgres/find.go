package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// findBatch is how many labels one statement asks for.
const findBatch = 1000

// selectFound finds the newest entry for each key, and only those of the tenant.
const selectFound = "SELECT " + entryColumns + `, s.tenant, s.name FROM unnest($1::bytea[]) AS k(find)
	CROSS JOIN LATERAL (SELECT * FROM pleat.entry n WHERE n.find = k.find ORDER BY n.moment DESC, n.seq DESC LIMIT 1) e
	JOIN pleat.session s ON s.id = e.session WHERE s.owner = $2 AND s.tenant = $3`

// Find implements [pleat.Store].
func (s *Store) Find(ctx context.Context, tenant string, kind pleat.EntryKind, labels ...string) ([]pleat.Found, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("find %s entries: %w", kind, err)
	}
	defer s.work.Done()
	var found []pleat.Found
	for batch := range slices.Chunk(packed.Distinct(labels), findBatch) {
		var some []pleat.Found
		err := s.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
			some, err = s.findSome(ctx, conn, tenant, kind, batch)
			return err
		})
		if err != nil {
			return nil, s.fail(ctx, err, "find %s entries", kind)
		}
		found = append(found, some...)
	}
	return found, nil
}

// findSome reads the entries and checks that they are what was asked for.
func (s *Store) findSome(ctx context.Context, conn *pgxpool.Conn, tenant string, kind pleat.EntryKind, labels []string) ([]pleat.Found, error) {
	keys := make([][]byte, len(labels))
	for i, label := range labels {
		keys[i] = findKey(tenant, kind, label)
	}
	rows, err := conn.Query(ctx, selectFound, keys, ownerOf(tenant), column(tenant))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []pleat.Found
	for rows.Next() {
		var keyTenant, keyName []byte
		r, err := scanEntry(rows, &keyTenant, &keyName)
		if _, damaged := errors.AsType[errDamaged](err); err != nil && !damaged {
			return nil, err
		}
		key := pleat.SessionKey{Tenant: string(keyTenant), Session: string(keyName)}
		if err != nil || !r.checks(key) {
			return nil, s.corrupt("a %s entry found by its label does not check", kind)
		}
		if _, asked := slices.BinarySearch(labels, r.Label); !asked || key.Tenant != tenant || r.Kind != kind {
			return nil, s.corrupt("an index leads to the wrong %s entry", kind)
		}
		found = append(found, pleat.Found{Key: key, Entry: r.Entry})
	}
	return found, rows.Err()
}
