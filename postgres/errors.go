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

	"github.com/pleat-dev/pleat"
)

// What can be wrong with a server, besides the errors that all stores have.
var (
	// ErrBusy: all connections were in use for longer than Options.PoolTimeout, or a
	// statement took longer than Options.StatementTimeout. Nothing was written; try
	// again.
	ErrBusy = errors.New("store is busy")
	// ErrUnreachable: there is no server to talk to, for longer than
	// Options.RetryTimeout. Nothing was written.
	ErrUnreachable = errors.New("server cannot be reached")
	// ErrUncertain: the connection was lost while entries were being committed, and the
	// server did not come back in time to be asked. The entries are there, all of them,
	// or none is. Append the same again when the server is back: if they are there, that
	// is [pleat.ErrConflict], and a Scan shows them.
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

// code is the SQLSTATE of an error, empty if it is none of the server's.
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
	return noConnection(err) || strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "conn busy")
}

// noConnection reports whether none could be made.
func noConnection(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// errAgain asks for another attempt: somebody else was faster with something that does
// not decide anything.
var errAgain = errors.New("somebody else was faster")

// worthRetry reports whether the same thing may go well a moment later.
func worthRetry(err error) bool {
	switch code(err) {
	case codeSerialization, codeDeadlock, codeReadOnly, codeTooManyConns, codeLockNotGranted:
		return true
	case "":
		return errors.Is(err, errAgain) || lostConnection(err)
	}
	return lostConnection(err)
}

// explain turns what the driver says into the project's errors, with the store's name
// and what to do about it.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	if _, damaged := errors.AsType[errDamaged](asDamage(err)); damaged {
		return fmt.Errorf("%s: %w: %v", s.name, pleat.ErrCorrupt, err)
	}
	switch code(err) {
	case codeDiskFull, codeOutOfMemory:
		return s.full(err)
	case codeDataCorrupted, codeIndexCorrupted:
		return fmt.Errorf("%s: %w: %v", s.name, pleat.ErrCorrupt, err)
	case codeQueryCanceled:
		return fmt.Errorf("%s: %w: a statement took longer than %v: %v", s.name, ErrBusy, s.opts.StatementTimeout, err)
	case codeLockNotGranted, codeTooManyConns:
		return fmt.Errorf("%s: %w: %v", s.name, ErrBusy, err)
	case "28P01", "28000":
		return fmt.Errorf("%s refuses the user or password of the URL: %w", s.name, err)
	case "3D000":
		return fmt.Errorf("%s: there is no such database; make it with CREATE DATABASE: %w", s.name, err)
	case "42501":
		return fmt.Errorf("%s: the role may not do this; the first Open needs CREATE on the database: %w", s.name, err)
	}
	for _, sign := range []string{"No space left on device", "File too large", "Disk quota exceeded"} {
		if strings.Contains(err.Error(), sign) {
			return s.full(err)
		}
	}
	if lostConnection(err) && !errors.Is(err, ErrUncertain) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: is it running, and does the URL have the right host, port and sslmode? %v", s.name, ErrUnreachable, err)
	}
	return err
}

func (s *Store) full(cause error) error {
	return fmt.Errorf("%s: %w: make room on the server's disk; nothing was written: %v", s.name, pleat.ErrFull, cause)
}

// fail finishes an operation's error: "verb object: reason". A cancelled context is
// told as such, whatever the driver made of it.
func (s *Store) fail(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(err, ErrUncertain) &&
		(lostConnection(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = ctx.Err()
	}
	return fmt.Errorf(format+": %w", append(args, s.explain(err))...)
}

// corrupt describes damage in the store.
func (s *Store) corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", s.name, fmt.Sprintf(format, args...), pleat.ErrCorrupt)
}

// errDamaged is what reading a row says when the row does not check. It becomes
// [pleat.ErrCorrupt] where the name of the object is known.
type errDamaged struct{ what string }

func (e errDamaged) Error() string { return e.what }

// asDamage sorts the errors of Scan: a value that does not fit its Go type was not
// written by us.
func asDamage(err error) error {
	if e, ok := errors.AsType[pgx.ScanArgError](err); ok {
		return errDamaged{e.Error()}
	}
	return err
}
