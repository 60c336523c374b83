package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/rows"
)

// Options tells how to open a store. A nil pointer means all defaults.
type Options struct {
	// Logger gets what nobody is there to be told: texts that could not be indexed,
	// permissions that are too wide. Nil discards it.
	Logger *slog.Logger

	// BusyTimeout bounds how long a writer waits for the writers of other processes
	// before it gives up with [ErrBusy]. Zero means 10 seconds.
	BusyTimeout time.Duration

	// MaxBytes bounds the size of the file; an Append that needs more is
	// [pleat.ErrFull]. Zero means no bound but the disk's.
	MaxBytes int64

	// ReadOnly opens a store that is there, of this version or an older one, and leaves
	// it as it is: nothing is brought up to date, nothing indexed. What would write, and
	// Search, which may have to index first, is [pleat.ErrReadOnly]. False: all works.
	ReadOnly bool

	// IndexOnSearch leaves texts alone until somebody searches their session: right for
	// a command that stores much and is done. False: they are indexed in the background.
	IndexOnSearch bool
}

func (o *Options) readOnly() bool { return o != nil && o.ReadOnly }

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) busyTimeout() time.Duration {
	if o == nil || o.BusyTimeout <= 0 {
		return 10 * time.Second
	}
	return o.BusyTimeout
}

func (o *Options) maxPages() int64 {
	if o == nil || o.MaxBytes <= 0 {
		return 0
	}
	return max(o.MaxBytes/pageSize, 1)
}

// Store is a store in a SQLite file. It is safe for concurrent use.
type Store struct {
	base    rows.Base
	path    string
	busy    time.Duration
	version int // of the schema

	read   *sql.DB   // many connections
	writer *sql.DB   // one connection, and that is conn
	conn   *sql.Conn // used by the holder of turn
	turn   chan struct{}
	write  statements
	query  queries

	indexTurn chan struct{}  // held by whoever indexes
	long      *rows.LongText // what that is in the middle of; nil: of nothing
}

// tables are the store as package rows sees it.
type tables struct{ *Store }

var (
	_ pleat.Store    = (*Store)(nil)
	_ pleat.Searcher = (*Store)(nil)
	_ pleat.Keeper   = (*Store)(nil)
	_ pleat.Claimer  = (*Store)(nil)
	_ pleat.Sizer    = (*Store)(nil)
)

// Open opens the store in the file at path. A file that is not there is made, readable
// by its owner only, as are missing directories. A file of an older schema is brought
// up to date; a newer one is [pleat.ErrSchema].
func Open(path string, opts *Options) (*Store, error) {
	s := &Store{
		path: path, busy: opts.busyTimeout(),
		base: rows.Base{Name: path, Log: opts.logger().With("path", path), ReadOnly: opts.readOnly(), Quick: true},
		turn: make(chan struct{}, 1), indexTurn: make(chan struct{}, 1),
	}
	s.base.Init(tables{s})
	if err := s.open(opts); err != nil {
		s.closeDatabases()
		return nil, fmt.Errorf("open store %s: %w", path, s.base.Explain(err))
	}
	if !s.base.ReadOnly && (opts == nil || !opts.IndexOnSearch) {
		s.base.StartIndexer(0)
	}
	return s, nil
}

// Schema returns the version of the file's schema, and the newest that this program
// knows. They differ only if the file is older and was opened with Options.ReadOnly.
func (s *Store) Schema() (version, newest int) { return s.version, len(migrations) }

func (s *Store) open(opts *Options) error {
	ctx := context.Background()
	if err := prepareFile(s.path, s.base.ReadOnly, s.base.Log); err != nil {
		return err
	}
	var err error
	if s.writer, err = sql.Open("sqlite", s.source(writerPragmas)); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if s.conn, err = s.writer.Conn(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if pages := opts.maxPages(); pages > 0 {
		if _, err := s.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			return err
		}
	}
	if s.read, err = sql.Open("sqlite", s.source(append([]string{s.timeoutPragma()}, readerPragmas...))); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	if err := s.write.prepare(ctx, s.conn); err != nil {
		return err
	}
	return s.query.prepare(ctx, s.read)
}

// source names the file for the driver. Who opens a file read-only leaves its log where
// it is when it closes it.
func (s *Store) source(pragmas []string) string {
	if s.base.ReadOnly {
		return dataSource(s.path, pragmas...) + "&mode=ro"
	}
	return dataSource(s.path, pragmas...)
}

// timeoutPragma lets readers wait for the rare moments in which they have to.
func (s *Store) timeoutPragma() string { return fmt.Sprintf("busy_timeout(%d)", s.busy.Milliseconds()) }

// Close implements [pleat.Store]. It waits for calls under way, but not for indexing:
// what waits to be indexed is indexed when the store is opened again.
func (s *Store) Close() error {
	return s.base.Close(func() error {
		s.endLong()
		return s.closeDatabases()
	})
}

// closeDatabases closes the readers first: the last connection to go empties the log.
func (s *Store) closeDatabases() error {
	errs := []error{s.query.all.close(), s.write.all.close()}
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	return errors.Join(errs...)
}

// update runs f in a write transaction: all of it becomes durable, or nothing is there
// after the error. Waiting obeys the context; once the transaction has begun it is
// carried to its end, so that the caller always knows what happened.
func (s *Store) update(ctx context.Context, f func(ctx context.Context) error) error {
	if s.base.ReadOnly {
		return pleat.ErrReadOnly
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err := f(ctx)
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already, and then says so; nothing else can
		// go wrong with a rollback that could be helped here.
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// begin takes the file's write lock. It waits in short steps, so that it can be
// cancelled between them.
func (s *Store) begin(ctx context.Context) error {
	deadline := time.Now().Add(s.busy)
	for {
		_, err := s.conn.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE")
		if !isBusy(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for another process to finish writing: %w", s.busy, ErrBusy)
		}
	}
}
