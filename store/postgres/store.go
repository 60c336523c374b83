package postgres

import (
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
	// Logger gets what nobody is there to be told: texts that could not be indexed,
	// settings of the server that weaken the promises. Nil discards it.
	Logger *slog.Logger

	// MaxConns bounds the connections of this store. Zero means 8, unless the URL has
	// pool_max_conns.
	MaxConns int

	// StatementTimeout bounds each statement on the server. What takes longer is
	// [ErrBusy]. Zero means 30 seconds.
	StatementTimeout time.Duration

	// PoolTimeout bounds how long a call waits for one of the connections before it is
	// [ErrBusy]. Zero means 10 seconds.
	PoolTimeout time.Duration

	// RetryTimeout bounds how long a call repeats itself when the server is not there,
	// restarts or asks for it. Zero means 30 seconds; negative means not at all.
	RetryTimeout time.Duration

	// IndexOnSearch leaves texts unindexed until somebody searches their session. The
	// search index is by far the largest part of a store, and most sessions are never
	// searched; the first search of one then takes as long as indexing it. It has its
	// effect if all processes that share the store set it.
	IndexOnSearch bool

	// MustExist makes Open of a database without a store [store.ErrNotFound], instead
	// of making one there. False: it is made.
	MustExist bool

	// ReadOnly opens a store that is there, of this version or an older one, and leaves
	// it as it is: nothing is brought up to date, nothing indexed. What would write, and
	// Search, which may have to index first, is [store.ErrReadOnly]. False: all works.
	ReadOnly bool
}

// withDefaults returns a copy in which nothing is zero.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.StatementTimeout <= 0 {
		out.StatementTimeout = 30 * time.Second
	}
	if out.PoolTimeout <= 0 {
		out.PoolTimeout = 10 * time.Second
	}
	if out.RetryTimeout == 0 {
		out.RetryTimeout = 30 * time.Second
	}
	return out
}

// Store is a store in a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	name    string // host and database, for messages
	version int    // of the schema
	opts    Options
	pool    *pgxpool.Pool
	base    rows.Base
}

// tables are the store as package rows sees it.
type tables struct{ *Store }

var (
	_ store.Store    = (*Store)(nil)
	_ store.Searcher = (*Store)(nil)
	_ store.Keeper   = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Forker   = (*Store)(nil)
	_ store.Sizer    = (*Store)(nil)
)

// Open opens the store in the database that the URL names, in any form that libpq
// knows. Tables that are not there are made, older ones brought up to date while others
// use them; newer ones are [store.ErrSchema]. The context is for opening only.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{opts: opts.withDefaults()}
	config, err := poolConfig(url, s.opts)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.name = storeName(config.ConnConfig)
	s.base = rows.Base{Name: s.name, Log: s.opts.Logger.With("store", s.name), ReadOnly: s.opts.ReadOnly}
	s.base.Init(tables{s})
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.name, s.base.Explain(err))
	}
	if err := s.prepare(ctx); err != nil {
		s.pool.Close()
		return nil, s.base.Fail(ctx, err, "open store %s", s.name)
	}
	if !s.opts.IndexOnSearch && !s.opts.ReadOnly {
		s.base.StartIndexer(indexPoll)
	}
	return s, nil
}

// Schema returns the version of the tables, and the newest that this program knows. They
// differ only if the tables are older and were opened with Options.ReadOnly.
func (s *Store) Schema() (version, newest int) { return s.version, len(migrations) }

// Close implements [store.Store]. It waits for calls under way, but not for indexing:
// what waits to be indexed is indexed by whoever has the store open.
func (s *Store) Close() error {
	return s.base.Close(func() error {
		s.pool.Close()
		return nil
	})
}
