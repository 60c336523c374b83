package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/store"
)

// schema2 adds the claims. They are found by a hash over the names and the work; token
// tells holders apart. Time is the server's: clocks of replicas differ.
const schema2 = `
CREATE TABLE pleat.claim(
	work bytea PRIMARY KEY,
	token bytea NOT NULL,
	expires timestamptz NOT NULL
);
CREATE INDEX claim_expires ON pleat.claim(expires);
`

const (
	// The same token gets it again: the first attempt may have been carried out before
	// its connection was lost.
	takeClaim = `INSERT INTO pleat.claim AS c(work, token, expires) VALUES($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
		ON CONFLICT (work) DO UPDATE SET token = excluded.token, expires = excluded.expires
		WHERE c.expires <= clock_timestamp() OR c.token = excluded.token RETURNING true`
	// What the dead have left and nobody wants again is cleared away by those who claim.
	clearClaims = `DELETE FROM pleat.claim WHERE work IN (SELECT work FROM pleat.claim
		WHERE expires < clock_timestamp() - interval '1 hour' ORDER BY expires LIMIT 10 FOR UPDATE SKIP LOCKED)`
	dropClaim = "DELETE FROM pleat.claim WHERE work = $1 AND token = $2"
)

// Claim implements [store.Claimer]. Time passes by the server's clock. A claim is a row
// and holds no connection, so it also falls when the server was restarted meanwhile.
func (s *Store) Claim(ctx context.Context, key store.SessionKey, what string, ttl time.Duration) (func(context.Context) error, bool, error) {
	return s.base.Claim(ctx, key, what, ttl)
}

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
