package sqlite

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// schema2 adds the claims. They are found by a hash over the names and the work; token
// tells holders apart.
const schema2 = `
CREATE TABLE claim(
	work BLOB PRIMARY KEY,
	token BLOB NOT NULL,
	expires INTEGER NOT NULL
) WITHOUT ROWID;
`

// Claim implements [store.Claimer]. Time passes by the clock of this machine, which all
// that use the file share.
func (s *Store) Claim(ctx context.Context, key store.SessionKey, what string, ttl time.Duration) (func(context.Context) error, bool, error) {
	return s.base.Claim(ctx, key, what, ttl)
}

func (t tables) TakeClaim(ctx context.Context, work, token []byte, ttl time.Duration) (ok bool, err error) {
	err = t.update(ctx, func(ctx context.Context) error {
		now := time.Now()
		// What the dead have left is cleared away by those who claim: it is little.
		if _, err := t.conn.ExecContext(ctx, "DELETE FROM claim WHERE expires <= ?", now.UnixMicro()); err != nil {
			return err
		}
		result, err := t.conn.ExecContext(ctx, "INSERT INTO claim(work, token, expires) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
			work, token, now.Add(ttl).UnixMicro())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
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
