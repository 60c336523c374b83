package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Sessions compares the table and the index: they must agree on how many there are.
func (t tables) Sessions(ctx context.Context, tenant string) ([]*rows.Session, error) {
	tx, err := t.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	const (
		count = "SELECT count(*) FROM session INDEXED BY session_name WHERE tenant = ?"
		all   = "SELECT " + rows.SessionColumns + " FROM session s NOT INDEXED WHERE s.tenant = ?"
	)
	var want int
	if err := tx.QueryRowContext(ctx, count, rows.Column(tenant)).Scan(&want); err != nil {
		return nil, err
	}
	sessions, err := rows.Collect(rows.Each(tx.QueryContext(ctx, all, rows.Column(tenant))), t.base.ReadSession)
	if err != nil {
		return nil, err
	}
	if len(sessions) != want {
		return nil, t.base.Corrupt("tenant %q has %d sessions, its index %d", tenant, len(sessions), want)
	}
	slices.SortFunc(sessions, func(a, b *rows.Session) int { return cmp.Compare(b.Newest, a.Newest) })
	return sessions, nil
}

func (t tables) Forget(ctx context.Context, key store.SessionKey) error {
	if err := t.update(ctx, func(ctx context.Context) error { return t.forget(ctx, key) }); err != nil {
		return err
	}
	return t.emptyLog(ctx)
}

// forget runs in a write transaction.
func (s *Store) forget(ctx context.Context, key store.SessionKey) error {
	x, err := s.current(ctx, key)
	if x == nil && err == nil {
		err = store.ErrNotFound
	}
	if x == nil {
		return err
	}
	err = nil // a damaged session can be forgotten too
	exec := func(text string, args ...any) (deleted int64) {
		if err == nil {
			deleted, err = affected(s.conn.ExecContext(ctx, text, args...))
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
	exec(`DELETE FROM blob WHERE tenant = ?
		AND hash IN (SELECT body FROM entry WHERE session = ? AND body IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM entry e JOIN session s ON s.id = e.session
			WHERE e.body = blob.hash AND s.tenant = blob.tenant AND s.id <> ?)`,
		rows.Column(key.Tenant), x.ID, x.ID)
	exec("DELETE FROM entry WHERE session = ?", x.ID)
	exec("DELETE FROM session WHERE id = ?", x.ID)
	return err
}

// emptyLog moves the log into the file and truncates it. It has to wait for readers that
// still use an older state.
func (s *Store) emptyLog(ctx context.Context) error {
	if err := take(ctx, s.turn); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	return s.whileBusy(ctx, func(ctx context.Context) (bool, error) {
		var busy, pages, moved int
		err := s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		return isBusy(err) || err == nil && busy != 0, err
	}, "the session is deleted, but its bytes stay in %s-wal until readers release it", s.path)
}

func (t tables) TakeClaim(ctx context.Context, work, token []byte, ttl time.Duration) (ok bool, err error) {
	err = t.update(ctx, func(ctx context.Context) error {
		now := time.Now()
		// Every claim deletes the few that have expired.
		if _, err := t.conn.ExecContext(ctx, "DELETE FROM claim WHERE expires <= ?", now.UnixMicro()); err != nil {
			return err
		}
		const insert = "INSERT INTO claim(work, token, expires) VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
		n, err := affected(t.conn.ExecContext(ctx, insert, work, token, now.Add(ttl).UnixMicro()))
		ok = n == 1
		return err
	})
	return ok, err
}

func (t tables) DropClaim(ctx context.Context, work, token []byte) error {
	return t.update(ctx, func(ctx context.Context) error {
		_, err := t.conn.ExecContext(ctx, "DELETE FROM claim WHERE work = ? AND token = ?", work, token)
		return err
	})
}
