package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Options tells how to open a store. A nil pointer means all defaults.
type Options struct {
	// Logger gets what no call can return: texts that could not be indexed, settings of
	// the server that weaken the promises. Nil discards it.
	Logger *slog.Logger

	// StatementTimeout bounds each statement on the server. What takes longer fails with
	// [ErrBusy]. Zero means 30 seconds.
	StatementTimeout time.Duration

	// PoolTimeout bounds how long a call waits for one of the connections before it fails
	// with [ErrBusy]. Zero means 10 seconds.
	PoolTimeout time.Duration

	// RetryTimeout bounds how long a call is retried when the server cannot be reached,
	// restarts or asks for another attempt. Zero means 30 seconds; negative means that
	// nothing is retried.
	RetryTimeout time.Duration

	// MustExist makes Open fail with [store.ErrNotFound] if the database has no store,
	// instead of creating one.
	MustExist bool

	// ReadOnly opens an existing store and changes nothing, not even the search index. Calls
	// that would write, and Search, which may have to index first, fail with
	// [store.ErrReadOnly].
	ReadOnly bool

	// Migrate lets Open bring tables of an older version up to date. Without it the error is
	// [store.ErrSchema]: programs of that version can write no more afterwards. No copy is made;
	// make one with pg_dump.
	Migrate bool

	// Keys encrypt what conversations say: bodies, data and labels of entries. Each has 32
	// bytes; the first one encrypts, all of them decrypt. What was written before stays as
	// it was. Names, kinds, times, sizes and hashes are not encrypted, and nothing is
	// indexed: Search fails with [errors.ErrUnsupported]. None: nothing is encrypted.
	Keys [][]byte
}

// withDefaults returns a copy in which the logger and the timeouts are set.
func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, &Options{})
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	if out.StatementTimeout <= 0 {
		out.StatementTimeout = 30 * time.Second
	}
	if out.PoolTimeout <= 0 {
		out.PoolTimeout = 10 * time.Second
	}
	out.RetryTimeout = cmp.Or(out.RetryTimeout, 30*time.Second)
	return out
}

// Store is a store in a PostgreSQL database. It is safe for concurrent use. Its methods are those of
// the interfaces of package store:
//
//	Append, Scan, Body, Find, Close   store.Store
//	Search                            store.Searcher
//	Sessions, Forget, Verify          store.Keeper
//	Claim                             store.Claimer
//	Fork                              store.Forker
//
// and Tenants, which lists the tenants that have sessions.
//
// If the connection is lost while Append or Fork commits and the server does not come back in
// time, the error is [ErrUncertain]; after any other error nothing is stored. When Forget has
// returned nil, nobody can read the session through PostgreSQL any more; its bytes stay in the
// server's files until VACUUM has cleaned the tables and the log and backups have been
// recycled. Claims go by the server's clock, and hold no connection.
type Store struct {
	calls
	name string // host and database, for messages
	opts Options
	pool *pgxpool.Pool
	base rows.Base
}

// calls has the methods of the interfaces below that are the same in all databases.
type calls = rows.Calls

// tables are the store as package rows sees it.
type tables struct{ *Store }

var (
	_ store.Store    = (*Store)(nil)
	_ store.Searcher = (*Store)(nil)
	_ store.Keeper   = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Forker   = (*Store)(nil)
)

// Open opens the store in the database that the URL names, in any form that libpq
// knows. It creates missing tables; for tables of another version the error is
// [store.ErrSchema], unless [Options].Migrate is set. The context is for opening only.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{opts: opts.withDefaults()}
	config, err := poolConfig(url, s.opts)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.name = storeName(config.ConnConfig)
	s.base = rows.Base{
		Name: s.name, Log: s.opts.Logger.With("store", s.name), ReadOnly: s.opts.ReadOnly, Pages: pages,
	}
	s.calls = s.base.Init(tables{s})
	if s.base.Keys, err = rows.NewKeys(s.opts.Keys); err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.name, err)
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.name, s.base.Explain(err))
	}
	if err := s.prepare(ctx); err != nil {
		s.pool.Close()
		return nil, s.base.Fail(ctx, err, "open store %s", s.name)
	}
	return s, nil
}

// Close implements [store.Store]. It waits for calls under way.
func (s *Store) Close() error {
	return s.base.Close(func() error {
		s.pool.Close()
		return nil
	})
}
