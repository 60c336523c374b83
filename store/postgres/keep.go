package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Sessions implements [store.Keeper].
func (s *Store) Sessions(ctx context.Context, tenant string) iter.Seq2[store.SessionInfo, error] {
	return s.base.Sessions(ctx, tenant)
}

func (t tables) Sessions(ctx context.Context, tenant string) ([]*rows.Session, error) {
	return collect(ctx, t.retry, t.base.ReadSession,
		"SELECT "+rows.SessionColumns+" FROM pleat.session s WHERE s.owner = $1 AND s.tenant = $2 ORDER BY s.newest DESC, s.id DESC",
		ownerOf(tenant), rows.Column(tenant))
}

// Tenants lists the tenants that have sessions, in order of name: for the owner of the
// database, who checks or keeps all of it.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	tenants, err := collect(ctx, s.read, rows.Text, "SELECT DISTINCT tenant FROM pleat.session ORDER BY tenant")
	return tenants, s.base.Fail(ctx, err, "list tenants")
}

// Forget implements [store.Keeper]. When it has returned nil nobody can read the session
// through PostgreSQL any more. Its bytes leave the server's files when VACUUM and time
// have passed over tables, log and backups.
func (s *Store) Forget(ctx context.Context, key store.SessionKey) error {
	return s.base.Forget(ctx, key)
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
				return nil // the attempt whose connection was lost has done it
			}
			return err
		}
		err = tx.Commit(finish)
		inDoubt = inDoubt || err != nil
		return err
	})
}

// forget runs in a transaction. The lock on the tenant waits for Appends under way and
// holds up others: each statement after it sees all that use a body.
func forget(ctx context.Context, tx pgx.Tx, key store.SessionKey) error {
	owner := ownerOf(key.Tenant)
	if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", owner); err != nil {
		return err
	}
	var id int64
	err := tx.QueryRow(ctx, "SELECT s.id FROM pleat.session s WHERE "+sessionWhere+" FOR UPDATE", sessionArgs(key)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, table := range []string{"pending", "place", "indexed", "text"} { // pending first: it waits for indexers
		batch.Queue("DELETE FROM pleat."+table+" WHERE session = $1", id)
	}
	batch.Queue(`DELETE FROM pleat.blob b WHERE b.owner = $2 AND b.hash IN (SELECT e.body FROM pleat.entry e WHERE e.session = $1 AND e.body IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM pleat.entry e JOIN pleat.session s ON s.id = e.session WHERE e.body = b.hash AND s.owner = b.owner AND s.id <> $1)`, id, owner)
	batch.Queue("DELETE FROM pleat.entry WHERE session = $1", id)
	batch.Queue("DELETE FROM pleat.session WHERE id = $1", id)
	return tx.SendBatch(ctx, batch).Close()
}
