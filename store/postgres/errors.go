package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pleat-dev/pleat/store"
)

// The errors of this store besides those that all stores have.
var (
	// ErrBusy: all connections were in use for longer than Options.PoolTimeout, or a
	// statement took longer than Options.StatementTimeout. Nothing was written; try
	// again.
	ErrBusy = errors.New("store is busy")
	// ErrUnreachable: the server could not be reached for longer than
	// Options.RetryTimeout. Nothing was written.
	ErrUnreachable = errors.New("server cannot be reached")
	// ErrUncertain: the connection was lost while entries were being committed, and the
	// server did not come back in time to be asked. Either all of the entries are stored
	// or none is. Append the same again when the server is back: if they are stored, the
	// error is [store.ErrConflict], and a Scan shows them.
	ErrUncertain = errors.New("it is not known whether the entries were stored")
)

// The SQLSTATE codes that matter here.
const (
	codeDiskFull        = "53100"
	codeOutOfMemory     = "53200"
	codeTooManyConns    = "53300"
	codeQueryCanceled   = "57014"
	codeLockNotGranted  = "55P03"
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeReadOnly        = "25006" // a standby after a failover
	codeIdleTransaction = "25P03"
	codeDataCorrupted   = "XX001"
	codeIndexCorrupted  = "XX002"
	codeInvalidValue    = "22023"
)

// code is the SQLSTATE of an error, empty if it did not come from the server.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// lostConnection reports whether the connection is gone, and with it the knowledge of
// what the server did last.
func lostConnection(err error) bool {
	switch c := code(err); {
	case c != "":
		return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P") || c == codeIdleTransaction
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return noConnection(err) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "conn busy")
}

func noConnection(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// errAgain asks for another attempt: somebody else created the session first.
var errAgain = errors.New("somebody else was faster")

// worthRetry reports whether another attempt may succeed.
func worthRetry(err error) bool {
	switch code(err) {
	case codeSerialization, codeDeadlock, codeReadOnly, codeTooManyConns, codeLockNotGranted:
		return true
	case "":
		return errors.Is(err, errAgain) || lostConnection(err)
	}
	return lostConnection(err)
}

func (t tables) Misfit(err error) bool {
	_, ok := errors.AsType[pgx.ScanArgError](err)
	return ok
}

func (t tables) Interrupted(err error) bool { return lostConnection(err) }

func (t tables) Explain(err error) error {
	switch code(err) {
	case codeDiskFull, codeOutOfMemory:
		return t.full(err)
	case codeDataCorrupted, codeIndexCorrupted:
		return fmt.Errorf("%s: %w: %v", t.name, store.ErrCorrupt, err)
	case codeQueryCanceled:
		return fmt.Errorf("%s: %w: a statement took longer than %v: %v", t.name, ErrBusy, t.opts.StatementTimeout, err)
	case codeLockNotGranted, codeTooManyConns:
		return fmt.Errorf("%s: %w: %v", t.name, ErrBusy, err)
	case "28P01", "28000":
		return fmt.Errorf("%s refuses the user or password of the URL: %w", t.name, err)
	case "3D000":
		return fmt.Errorf("%s: there is no such database; create it with CREATE DATABASE: %w", t.name, err)
	case "42501":
		return fmt.Errorf("%s: %w by this role; the first Open needs CREATE on the database: %w",
			t.name, store.ErrReadOnly, err)
	}
	for _, sign := range []string{"No space left on device", "File too large", "Disk quota exceeded"} {
		if strings.Contains(err.Error(), sign) {
			return t.full(err)
		}
	}
	cancelled := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if lostConnection(err) && !cancelled && !errors.Is(err, ErrUncertain) {
		return fmt.Errorf("%s: %w: is it running, and does the URL have the right host, port and sslmode? %v",
			t.name, ErrUnreachable, err)
	}
	return err
}

func (s *Store) full(cause error) error {
	return fmt.Errorf("%s: %w: free space on the server's disk; nothing was written: %v", s.name, store.ErrFull, cause)
}
