package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
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

// Claim implements [pleat.Claimer]. Time passes by the server's clock. A claim is a row
// and holds no connection, so it also falls when the server was restarted meanwhile.
func (s *Store) Claim(ctx context.Context, key pleat.SessionKey, what string, ttl time.Duration) (func(context.Context) error, bool, error) {
	if ttl <= 0 {
		return nil, false, fmt.Errorf("claim %s of session %q: for %v, which is no time", what, key, ttl)
	}
	work, token := packed.KeyOf("claim", key.Tenant, key.Session, what), make([]byte, 16)
	rand.Read(token) // never fails
	ok := false
	if s.opts.ReadOnly {
		return nil, false, fmt.Errorf("claim %s of session %q: %w", what, key, pleat.ErrReadOnly)
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
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
	if err != nil || !ok {
		return nil, false, s.fail(ctx, err, "claim %s of session %q", what, key)
	}
	release := func(ctx context.Context) error {
		err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			_, err := conn.Exec(ctx, dropClaim, work, token)
			return err
		})
		return s.fail(ctx, err, "release %s of session %q", what, key)
	}
	return release, true, nil
}
