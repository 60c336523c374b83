package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
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

// Claim implements [pleat.Claimer]. Time passes by the clock of this machine, which all
// that use the file share.
func (s *Store) Claim(ctx context.Context, key pleat.SessionKey, what string, ttl time.Duration) (func(context.Context) error, bool, error) {
	if ttl <= 0 {
		return nil, false, fmt.Errorf("claim %s of session %q: for %v, which is no time", what, key, ttl)
	}
	if err := s.enter(ctx); err != nil {
		return nil, false, fmt.Errorf("claim %s of session %q: %w", what, key, err)
	}
	defer s.work.Done()
	work, token := packed.KeyOf("claim", key.Tenant, key.Session, what), make([]byte, 16)
	rand.Read(token) // never fails
	ok := false
	err := s.update(ctx, func(ctx context.Context) error {
		now := time.Now()
		// What the dead have left is cleared away by those who claim: it is little.
		if _, err := s.conn.ExecContext(ctx, "DELETE FROM claim WHERE expires <= ?", now.UnixMicro()); err != nil {
			return err
		}
		result, err := s.conn.ExecContext(ctx, "INSERT INTO claim(work, token, expires) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
			work, token, now.Add(ttl).UnixMicro())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		ok = n == 1
		return err
	})
	if err != nil || !ok {
		return nil, false, s.fail(ctx, err, "claim %s of session %q", what, key)
	}
	release := func(ctx context.Context) error {
		if err := s.enter(ctx); err != nil {
			return fmt.Errorf("release %s of session %q: %w", what, key, err)
		}
		defer s.work.Done()
		err := s.update(ctx, func(ctx context.Context) error {
			_, err := s.conn.ExecContext(ctx, "DELETE FROM claim WHERE work = ? AND token = ?", work, token)
			return err
		})
		return s.fail(ctx, err, "release %s of session %q", what, key)
	}
	return release, true, nil
}
