package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
)

// Between two attempts there is a pause, which doubles up to the longest.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// acquire takes a connection from the pool; the caller releases it.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, s.opts.PoolTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil && !noConnection(err) {
		return nil, fmt.Errorf("%s: %w: all %d connections were in use for %v; raise pool_max_conns in the URL",
			s.name, ErrBusy, s.pool.Config().MaxConns, s.opts.PoolTimeout)
	}
	return conn, err
}

// runner is [Store.retry] or [Store.read].
type runner func(ctx context.Context, f func(ctx context.Context, conn *pgxpool.Conn) error) error

// collect reads the rows of a query. With an error it returns the rows before it.
func collect[T any](
	ctx context.Context, run runner, read func(row rows.Scanner) (T, error), query string, args ...any,
) (all []T, err error) {
	err = run(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		all, err = rows.Collect(rows.Each(conn.Query(ctx, query, args...)), read)
		return err
	})
	return all, err
}

func execAll(ctx context.Context, tx pgx.Tx, texts ...string) error {
	for _, text := range texts {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func inTx(ctx context.Context, run runner, options pgx.TxOptions, f func(tx pgx.Tx) error) error {
	return run(ctx,
		func(ctx context.Context, conn *pgxpool.Conn) error { return pgx.BeginTxFunc(ctx, conn, options, f) })
}

// snapshot is for several reads that must see the same state.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// retry runs f with a connection, and again while the server restarts, fails over or asks
// for another attempt. A connection whose transaction f left open is not reused.
func (s *Store) retry(ctx context.Context, f func(ctx context.Context, conn *pgxpool.Conn) error) error {
	deadline := time.Now().Add(s.opts.RetryTimeout)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := s.attempt(ctx, f)
		if err == nil || !worthRetry(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if time.Now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (s *Store) attempt(ctx context.Context, f func(ctx context.Context, conn *pgxpool.Conn) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(ctx, conn)
}

// read is retry as a call of its own.
func (s *Store) read(ctx context.Context, f func(ctx context.Context, conn *pgxpool.Conn) error) error {
	return s.base.Call(ctx, func() error { return s.retry(ctx, f) })
}

// finish is the context in which a commit is completed, so that the caller knows what
// happened: it is not cancelled with the caller's, but has a timeout.
func (s *Store) finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 2*s.opts.StatementTimeout)
}
