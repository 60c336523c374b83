package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/pleat-dev/pleat"
)

// Sessions implements [pleat.Keeper].
func (s *Store) Sessions(ctx context.Context, tenant string) iter.Seq2[pleat.SessionInfo, error] {
	return func(yield func(pleat.SessionInfo, error) bool) {
		sessions, err := s.sessions(ctx, tenant)
		if err != nil {
			yield(pleat.SessionInfo{}, s.fail(ctx, err, "list sessions"))
			return
		}
		for _, x := range sessions {
			info := pleat.SessionInfo{
				Key: x.key, Entries: x.head, BodyBytes: x.bytes,
				First: time.UnixMilli(x.first).UTC(), Last: time.UnixMilli(x.last).UTC(),
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// sessions reads all of a tenant's sessions, newest first. The table and the index
// must agree on how many there are.
func (s *Store) sessions(ctx context.Context, tenant string) ([]*session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.work.Done()
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var want int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM session INDEXED BY session_name WHERE tenant = ?", column(tenant)).Scan(&want); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+sessionColumns+" FROM session s NOT INDEXED WHERE s.tenant = ?", column(tenant))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sessions []*session
	for rows.Next() {
		x, err := readSession(rows)
		if damaged, ok := errors.AsType[errDamaged](err); ok {
			return nil, s.corrupt("a session of tenant %q: %s", tenant, damaged.what)
		}
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, x)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(sessions) != want {
		return nil, s.corrupt("tenant %q has %d sessions, its index %d", tenant, len(sessions), want)
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(b.newest, a.newest) })
	return sessions, nil
}

// Forget implements [pleat.Keeper]. When it has returned nil, nothing of the session is
// left in the file or its log, but for bodies that other sessions of the tenant have.
// The search index is written anew for that, which takes time if it is large.
func (s *Store) Forget(ctx context.Context, key pleat.SessionKey) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("forget session %q: %w", key, err)
	}
	defer s.work.Done()
	err := s.update(ctx, func(ctx context.Context) error { return s.forget(ctx, key) })
	if err == nil {
		err = s.emptyLog(ctx)
	}
	return s.fail(ctx, err, "forget session %q", key)
}

// forget runs in a write transaction.
func (s *Store) forget(ctx context.Context, key pleat.SessionKey) error {
	x, err := readSession(s.write.sessionByName.QueryRowContext(ctx, column(key.Tenant), column(key.Session)))
	if _, damaged := errors.AsType[errDamaged](err); damaged && x != nil {
		err = nil // what is damaged can be forgotten too
	}
	if err != nil || x == nil {
		if x, err = s.sessionForWriting(ctx, key); err != nil {
			return err
		}
	}
	if x == nil {
		return pleat.ErrNotFound
	}
	from, to := placeRange(x.id)
	var places int64
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM place WHERE id >= ? AND id < ?", from, to).Scan(&places); err != nil {
		return err
	}
	if places > 0 {
		if _, err := s.conn.ExecContext(ctx, "DELETE FROM word WHERE rowid >= ? AND rowid < ?", from, to); err != nil {
			return err
		}
		// Deleted words stay in the index until it is merged.
		if _, err := s.conn.ExecContext(ctx, "INSERT INTO word(word) VALUES('optimize')"); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		text string
		args []any
	}{
		{"DELETE FROM place WHERE id >= ? AND id < ?", []any{from, to}},
		{"DELETE FROM indexed WHERE session = ?", []any{x.id}},
		{"DELETE FROM pending WHERE session = ?", []any{x.id}},
		{"DELETE FROM text WHERE entry IN (SELECT id FROM entry WHERE session = ?)", []any{x.id}},
		{
			`DELETE FROM blob WHERE tenant = ? AND hash IN (SELECT body FROM entry WHERE session = ? AND body IS NOT NULL) AND NOT EXISTS (
			SELECT 1 FROM entry e JOIN session s ON s.id = e.session WHERE e.body = blob.hash AND s.tenant = blob.tenant AND s.id <> ?)`,
			[]any{column(key.Tenant), x.id, x.id},
		},
		{"DELETE FROM entry WHERE session = ?", []any{x.id}},
		{"DELETE FROM session WHERE id = ?", []any{x.id}},
	} {
		if _, err := s.conn.ExecContext(ctx, step.text, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// emptyLog moves the log into the file and cuts it to nothing. It has to wait for
// readers that still look at the past.
func (s *Store) emptyLog(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	deadline := time.Now().Add(s.busy)
	for {
		var busy, pages, moved int
		err := s.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		if err != nil && !isBusy(err) || err == nil && busy == 0 {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the session is gone, but its bytes stay in %s-wal until readers let go of it: %w", s.path, ErrBusy)
		}
	}
}
