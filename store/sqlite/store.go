package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// Options tells how to open a store. A nil pointer means all defaults.
type Options struct {
	// Logger gets what no call can return: texts that could not be indexed, permissions
	// that are too wide. Nil discards it.
	Logger *slog.Logger

	// BusyTimeout bounds how long a writer waits for the writers of other processes
	// before it gives up with [ErrBusy]. Zero means 10 seconds.
	BusyTimeout time.Duration

	// MaxBytes bounds the size of the file; an Append that needs more fails with
	// [store.ErrFull]. Zero means that only the disk is the limit.
	MaxBytes int64

	// ReadOnly opens an existing store and changes nothing, not even the search index. Calls
	// that would write, and Search, which may have to index first, fail with
	// [store.ErrReadOnly].
	ReadOnly bool

	// Keys encrypt what conversations say: bodies, data and labels of entries. Each has 32
	// bytes; the first one encrypts, all of them decrypt. What was written before stays as
	// it was. Names, kinds, times, sizes and hashes are not encrypted, and nothing is
	// indexed: Search fails with [errors.ErrUnsupported]. None: nothing is encrypted.
	Keys [][]byte
}

// withDefaults returns a copy in which the logger and the timeout are set.
func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, &Options{})
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	if out.BusyTimeout <= 0 {
		out.BusyTimeout = 10 * time.Second
	}
	return out
}

// Store is a store in a SQLite file. It is safe for concurrent use. Its methods are those of
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
// When Forget has returned nil, nothing of the session is left in the file or its log except bodies that other sessions
// of the tenant have. For that it rewrites the search index, which takes time if the index is
// large. Claims go by the clock of this machine, which all users of the file share.
type Store struct {
	calls
	base  rows.Base
	path  string
	place string      // path, whatever the working directory becomes
	file  os.FileInfo // the file that was opened
	opts  Options
	still bool // nobody can write to the file

	read   *sql.DB   // many connections
	writer *sql.DB   // one connection, and that is conn
	conn   *sql.Conn // used by the holder of turn
	turn   chan struct{}
	locked time.Time            // since when it has found the file locked; zero: it has not
	tried  time.Time            // when it did so last
	write  map[string]*sql.Stmt // by their texts, on the writer's connection
	query  map[string]*sql.Stmt // on those of the readers
	opened []io.Closer          // in the order in which they were opened

	indexTurn chan struct{} // held by whoever indexes
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

// Open opens the store in the file at path. It creates a missing file, readable by its
// owner only, and missing directories. A file of an older version is brought up to date, after a copy
// was made beside it; of a version that it cannot read the error is [store.ErrSchema].
func Open(path string, opts *Options) (*Store, error) {
	s := &Store{path: path, opts: opts.withDefaults(), turn: make(chan struct{}, 1), indexTurn: make(chan struct{}, 1)}
	s.base = rows.Base{
		Name: path, Log: s.opts.Logger.With("path", path), ReadOnly: s.opts.ReadOnly, Quick: true,
		Pages: pages,
	}
	s.calls = s.base.Init(tables{s})
	var err error
	if s.base.Keys, err = rows.NewKeys(s.opts.Keys); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	err = s.open()
	if c := code(err) & 0xff; s.base.ReadOnly && (c == lib.SQLITE_CANTOPEN || c == lib.SQLITE_READONLY) && noLog(path) {
		// Readers of a log need a file beside it. Where none can be made, and there is no
		// log, nobody is writing.
		s.closeDatabases()
		s.opened, s.still = nil, true
		err = s.open()
	}
	if err != nil {
		s.closeDatabases()
		return nil, fmt.Errorf("open store %s: %w", path, s.base.Explain(err))
	}
	return s, nil
}

func (s *Store) open() error {
	ctx := context.Background()
	if err := prepareFile(s.path, s.base.ReadOnly, s.base.Log); err != nil {
		return err
	}
	var err error
	if s.place, err = filepath.Abs(s.path); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.place); err != nil {
		return err
	}
	if s.writer, err = sql.Open("sqlite", s.source(writerPragmas)); err != nil {
		return err
	}
	s.opened = append(s.opened, s.writer)
	s.writer.SetMaxOpenConns(1)
	if s.conn, err = s.writer.Conn(ctx); err != nil {
		return err
	}
	s.opened = append(s.opened, s.conn)
	if err := s.checkFile(ctx); err != nil {
		return err
	}
	if s.opts.MaxBytes > 0 {
		most := fmt.Sprintf("PRAGMA max_page_count = %d", max(s.opts.MaxBytes/pageSize, 1))
		if _, err := s.conn.ExecContext(ctx, most); err != nil {
			return err
		}
	}
	if s.read, err = sql.Open("sqlite", s.source(append([]string{s.timeoutPragma()}, readerPragmas...))); err != nil {
		return err
	}
	s.opened = append(s.opened, s.read)
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	return s.prepare(ctx)
}

// source names the file for the driver. A connection that is read-only leaves the log in
// place when it closes.
func (s *Store) source(pragmas []string) string {
	source := dataSource(s.path, pragmas...)
	switch {
	case s.still:
		source += "&mode=ro&immutable=1"
	case s.base.ReadOnly:
		source += "&mode=ro"
	}
	return source
}

// timeoutPragma lets readers wait, in the rare moments in which they have to.
func (s *Store) timeoutPragma() string {
	return fmt.Sprintf("busy_timeout(%d)", s.opts.BusyTimeout.Milliseconds())
}

// Close implements [store.Store]. It waits for calls under way.
func (s *Store) Close() error {
	return s.base.Close(s.closeDatabases)
}

// closeDatabases closes first what was opened last: statements before their database,
// since SQLite keeps a connection and its log while it has statements, and the readers
// before the writer, since the last connection to close empties the log.
func (s *Store) closeDatabases() error {
	var errs []error
	for _, c := range slices.Backward(s.opened) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// update is transact in a file that no newer program has brought up to date meanwhile.
func (s *Store) update(ctx context.Context, f func(ctx context.Context) error) error {
	return s.transact(ctx, func(ctx context.Context) error {
		if _, err := s.missing(ctx, false); err != nil {
			return err
		}
		return f(ctx)
	})
}

// transact runs f in a write transaction: all of it becomes durable, or after an error
// nothing. Waiting obeys the context; a transaction that has begun is completed, so that
// the caller always knows what happened.
func (s *Store) transact(ctx context.Context, f func(ctx context.Context) error) error {
	if s.base.ReadOnly {
		return store.ErrReadOnly
	}
	if err := take(ctx, s.turn); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	if err := s.begin(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err := cmp.Or(f(ctx), s.isThere())
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already, and then reports that. No other error of
		// a rollback could be handled here.
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// isThere fails if the file no longer has its name. SQLite would go on writing, into a file
// that nobody can open again.
func (s *Store) isThere() error {
	now, err := os.Stat(s.place)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.file, now) {
		return fmt.Errorf("%s was deleted or replaced while it was open: %w: restart what has it open",
			s.path, store.ErrReadOnly)
	}
	if err != nil {
		return fmt.Errorf("look for the store's file: %w", err)
	}
	return nil
}

// take waits for a turn, which ends when something is received from it.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin takes the file's write lock.
func (s *Store) begin(ctx context.Context) error {
	return s.whileBusy(ctx, func(ctx context.Context) (bool, error) {
		_, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		return isBusy(err), err
	}, "waited %v for another process to finish writing", s.opts.BusyTimeout)
}

// whileBusy repeats try, which waits in short steps, so that it can be cancelled between
// them. How long it waits counts from when the file was first found locked: those that
// come later do not wait one after the other. The caller has the turn.
func (s *Store) whileBusy(
	ctx context.Context, try func(ctx context.Context) (busy bool, err error), format string, args ...any,
) error {
	for {
		busy, err := try(context.WithoutCancel(ctx))
		if !busy {
			s.locked = time.Time{}
			return err
		}
		if s.locked.IsZero() || time.Since(s.tried) > s.opts.BusyTimeout {
			s.locked = time.Now()
		}
		s.tried = time.Now()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(s.locked) > s.opts.BusyTimeout {
			return fmt.Errorf(format+": %w", append(args, ErrBusy)...)
		}
	}
}
