package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

func (t tables) Sessions(ctx context.Context, tenant string) ([]*rows.Session, error) {
	return collect(ctx, t.retry, t.base.ReadSession,
		"SELECT "+rows.SessionColumns+` FROM pleat.session s WHERE s.owner = $1 AND s.tenant = $2
		ORDER BY s.newest DESC, s.id DESC`, ownerOf(tenant), rows.Column(tenant))
}

func (t tables) Forget(ctx context.Context, key store.SessionKey) error {
	inDoubt := false
	return t.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		finish, cancel := t.finish(ctx)
		defer cancel()
		defer tx.Rollback(finish)
		if err := forget(finish, tx, key); err != nil {
			if inDoubt && errors.Is(err, store.ErrNotFound) {
				return nil // the attempt whose connection was lost had succeeded
			}
			return err
		}
		err = tx.Commit(finish)
		inDoubt = inDoubt || err != nil
		return err
	})
}

// forget runs in a transaction. The lock on the tenant waits for Appends under way and
// blocks later ones, so each statement after it sees every use of a body.
func forget(ctx context.Context, tx pgx.Tx, key store.SessionKey) error {
	owner := ownerOf(key.Tenant)
	if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", owner); err != nil {
		return err
	}
	var id int64
	var version int
	const find = "SELECT s.id, (" + newestVersion + ") FROM pleat.session s WHERE " + sessionWhere + " FOR UPDATE"
	err := tx.QueryRow(ctx, find, sessionArgs(key)...).Scan(&id, &version)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotFound
	}
	if err == nil {
		_, err = versions.From(version, false)
	}
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, table := range []string{"pending", "place", "indexed", "text"} { // pending first: it waits for indexers
		batch.Queue("DELETE FROM pleat."+table+" WHERE session = $1", id)
	}
	batch.Queue(`DELETE FROM pleat.blob b WHERE b.owner = $2
		AND b.hash IN (SELECT e.body FROM pleat.entry e WHERE e.session = $1 AND e.body IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM pleat.entry e JOIN pleat.session s ON s.id = e.session
			WHERE e.body = b.hash AND s.owner = b.owner AND s.id <> $1)`, id, owner)
	batch.Queue("DELETE FROM pleat.entry WHERE session = $1", id)
	batch.Queue("DELETE FROM pleat.session WHERE id = $1", id)
	return tx.SendBatch(ctx, batch).Close()
}

const (
	// The same token gets the claim again: the first attempt may have succeeded before
	// its connection was lost.
	takeClaim = `INSERT INTO pleat.claim AS c(work, token, expires)
		VALUES($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
		ON CONFLICT (work) DO UPDATE SET token = excluded.token, expires = excluded.expires
		WHERE c.expires <= clock_timestamp() OR c.token = excluded.token RETURNING true`
	// Every claim deletes a few that expired long ago.
	clearClaims = `DELETE FROM pleat.claim WHERE work IN (SELECT work FROM pleat.claim
		WHERE expires < clock_timestamp() - interval '1 hour' ORDER BY expires LIMIT 10 FOR UPDATE SKIP LOCKED)`
	dropClaim = "DELETE FROM pleat.claim WHERE work = $1 AND token = $2"
)

func (t tables) TakeClaim(ctx context.Context, work, token []byte, ttl time.Duration) (ok bool, err error) {
	err = t.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, clearClaims); err != nil {
			return err
		}
		ok = false
		err := conn.QueryRow(ctx, takeClaim, work, token, max(ttl.Microseconds(), 1)).Scan(&ok)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return ok, err
}

func (t tables) DropClaim(ctx context.Context, work, token []byte) error {
	return t.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, dropClaim, work, token)
		return err
	})
}
