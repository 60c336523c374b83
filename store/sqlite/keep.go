package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Sessions implements [store.Keeper].
func (s *Store) Sessions(ctx context.Context, tenant string) iter.Seq2[store.SessionInfo, error] {
	return s.base.Sessions(ctx, tenant)
}

// Sessions compares the table and the index: they must agree on how many there are.
func (t tables) Sessions(ctx context.Context, tenant string) ([]*rows.Session, error) {
	tx, err := t.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var want int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM session INDEXED BY session_name WHERE tenant = ?", rows.Column(tenant)).Scan(&want); err != nil {
		return nil, err
	}
	sessions, err := rows.Collect(rows.Each(tx.QueryContext(ctx, "SELECT "+rows.SessionColumns+" FROM session s NOT INDEXED WHERE s.tenant = ?",
		rows.Column(tenant))), t.base.ReadSession)
	if err != nil {
		return nil, err
	}
	if len(sessions) != want {
		return nil, t.base.Corrupt("tenant %q has %d sessions, its index %d", tenant, len(sessions), want)
	}
	slices.SortFunc(sessions, func(a, b *rows.Session) int { return cmp.Compare(b.Newest, a.Newest) })
	return sessions, nil
}

// Tenants lists the tenants that have sessions, in order of name: for the owner of the
// file, who checks or keeps all of it.
func (s *Store) Tenants(ctx context.Context) (tenants []string, err error) {
	err = s.base.Do(ctx, func() error {
		tenants, err = rows.Collect(rows.Each(s.read.QueryContext(ctx, "SELECT DISTINCT tenant FROM session ORDER BY tenant")), rows.Text)
		return err
	}, "list tenants")
	return tenants, err
}

// Forget implements [store.Keeper]. When it has returned nil, nothing of the session is
// left in the file or its log, but for bodies that other sessions of the tenant have.
// The search index is written anew for that, which takes time if it is large.
func (s *Store) Forget(ctx context.Context, key store.SessionKey) error {
	return s.base.Forget(ctx, key)
}

func (t tables) Forget(ctx context.Context, key store.SessionKey) error {
	if err := t.update(ctx, func(ctx context.Context) error { return t.forget(ctx, key) }); err != nil {
		return err
	}
	return t.emptyLog(ctx)
}

// forget runs in a write transaction.
func (s *Store) forget(ctx context.Context, key store.SessionKey) error {
	// What is damaged can be forgotten too, if it can be read at all.
	x, _ := s.base.ReadSession(s.write.sessionByName.QueryRowContext(ctx, rows.Column(key.Tenant), rows.Column(key.Session)))
	var err error
	if x == nil {
		x, err = s.sessionForWriting(ctx, key)
	}
	if err != nil {
		return err
	}
	if x == nil {
		return store.ErrNotFound
	}
	exec := func(text string, args ...any) (deleted int64) {
		var result sql.Result
		if err == nil {
			result, err = s.conn.ExecContext(ctx, text, args...)
		}
		if err == nil {
			deleted, err = result.RowsAffected()
		}
		return deleted
	}
	from, to := placeRange(x.ID)
	if exec("DELETE FROM place WHERE id >= ? AND id < ?", from, to) > 0 {
		exec("DELETE FROM word WHERE rowid >= ? AND rowid < ?", from, to)
		exec("INSERT INTO word(word) VALUES('optimize')") // deleted words stay in the index until it is merged
	}
	exec("DELETE FROM indexed WHERE session = ?", x.ID)
	exec("DELETE FROM pending WHERE session = ?", x.ID)
	exec("DELETE FROM text WHERE entry IN (SELECT id FROM entry WHERE session = ?)", x.ID)
	exec(`DELETE FROM blob WHERE tenant = ? AND hash IN (SELECT body FROM entry WHERE session = ? AND body IS NOT NULL) AND NOT EXISTS (
		SELECT 1 FROM entry e JOIN session s ON s.id = e.session WHERE e.body = blob.hash AND s.tenant = blob.tenant AND s.id <> ?)`,
		rows.Column(key.Tenant), x.ID, x.ID)
	exec("DELETE FROM entry WHERE session = ?", x.ID)
	exec("DELETE FROM session WHERE id = ?", x.ID)
	return err
}

// emptyLog moves the log into the file and cuts it to nothing. It has to wait for
// readers that still look at the past.
func (s *Store) emptyLog(ctx context.Context) error {
	if err := take(ctx, s.turn); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	return s.whileBusy(ctx, func(ctx context.Context) (bool, error) {
		var busy, pages, moved int
		err := s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		return isBusy(err) || err == nil && busy != 0, err
	}, "the session is gone, but its bytes stay in %s-wal until readers let go of it", s.path)
}
