package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Find implements [store.Store].
func (s *Store) Find(ctx context.Context, tenant string, kind store.EntryKind, labels ...string) ([]store.Found, error) {
	return s.base.Find(ctx, tenant, kind, labels)
}

// Find asks both indexes at one moment. They must agree on what is there and on what is
// the newest.
func (t tables) Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error) {
	tx, err := t.read.BeginTx(ctx, nil)
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
			return nil, t.base.Corrupt("the indexes disagree on the %s entry %q", kind, label)
		}
		if id != 0 {
			labelOf[id] = label
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list := rows.Each(tx.QueryContext(ctx, "SELECT "+entryColumns+", s.tenant, s.name FROM entry e JOIN session s ON s.id = e.session WHERE e.id IN ("+
		placeholders(len(ids))+")", ids...))
	found, err := rows.Collect(list, func(row rows.Scanner) (store.Found, error) {
		return t.base.ReadFound(row, tenant, kind, func(r *rows.Record) bool { return r.Label == labelOf[r.ID] })
	})
	if err == nil && len(found) != len(ids) {
		err = t.base.Corrupt("%d of %d %s entries that an index knows are missing", len(ids)-len(found), len(ids), kind)
	}
	return found, err
}

// newestBy returns the newest entry for each key that there is an entry for.
func newestBy(ctx context.Context, tx *sql.Tx, field string, keys []any) (map[int64]int64, error) {
	newest := make(map[int64]int64)
	for row, err := range rows.Each(tx.QueryContext(ctx, fmt.Sprintf(
		"SELECT %[1]s, max(id) FROM entry INDEXED BY entry_%[1]s WHERE %[1]s IN (%[2]s) GROUP BY %[1]s", field, placeholders(len(keys))), keys...)) {
		if err != nil {
			return nil, err
		}
		var key, id int64
		if err := row.Scan(&key, &id); err != nil {
			return nil, err
		}
		newest[key] = id
	}
	return newest, nil
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }
