package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// findBatch is how many labels one statement asks for.
const findBatch = 400

// Find implements [pleat.Store].
func (s *Store) Find(ctx context.Context, tenant string, kind pleat.EntryKind, labels ...string) ([]pleat.Found, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("find %s entries: %w", kind, err)
	}
	defer s.work.Done()
	var found []pleat.Found
	for batch := range slices.Chunk(packed.Distinct(labels), findBatch) {
		some, err := s.findSome(ctx, tenant, kind, batch)
		if err != nil {
			return nil, s.fail(ctx, err, "find %s entries", kind)
		}
		found = append(found, some...)
	}
	return found, nil
}

// findSome asks both indexes at one moment. They must agree on what is there and on
// what is the newest.
func (s *Store) findSome(ctx context.Context, tenant string, kind pleat.EntryKind, labels []string) ([]pleat.Found, error) {
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	keys1, keys2 := make([]any, len(labels)), make([]any, len(labels))
	for i, label := range labels {
		keys1[i], keys2[i] = findKeys(tenant, kind, label)
	}
	newest1, err := newestBy(ctx, tx, "find1", keys1)
	if err != nil {
		return nil, err
	}
	newest2, err := newestBy(ctx, tx, "find2", keys2)
	if err != nil {
		return nil, err
	}
	labelOf := make(map[int64]string, len(newest1))
	var ids []any
	for i, label := range labels {
		id := newest1[keys1[i].(int64)]
		if id != newest2[keys2[i].(int64)] {
			return nil, s.corrupt("the indexes disagree on the %s entry %q", kind, label)
		}
		if id != 0 {
			labelOf[id] = label
			ids = append(ids, id)
		}
	}
	return s.foundEntries(ctx, tx, tenant, kind, labelOf, ids)
}

// newestBy returns the newest entry for each key that there is an entry for.
func newestBy(ctx context.Context, tx *sql.Tx, field string, keys []any) (map[int64]int64, error) {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %[1]s, max(id) FROM entry INDEXED BY entry_%[1]s WHERE %[1]s IN (%[2]s) GROUP BY %[1]s",
		field, placeholders(len(keys))), keys...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	newest := make(map[int64]int64)
	for rows.Next() {
		var key, id int64
		if err := rows.Scan(&key, &id); err != nil {
			return nil, err
		}
		newest[key] = id
	}
	return newest, rows.Err()
}

// foundEntries reads the entries and checks that they are what was asked for.
func (s *Store) foundEntries(ctx context.Context, tx *sql.Tx, tenant string, kind pleat.EntryKind, labelOf map[int64]string, ids []any) ([]pleat.Found, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+entryColumns+", s.tenant, s.name FROM entry e JOIN session s ON s.id = e.session WHERE e.id IN ("+
		placeholders(len(ids))+")", ids...)
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
		if key.Tenant != tenant || r.Kind != kind || r.Label != labelOf[r.id] {
			return nil, s.corrupt("an index leads to the wrong entry for %s %q", kind, labelOf[r.id])
		}
		found = append(found, pleat.Found{Key: key, Entry: r.Entry})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(found) != len(ids) {
		return nil, s.corrupt("%d of %d %s entries that an index knows are missing", len(ids)-len(found), len(ids), kind)
	}
	return found, nil
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }
