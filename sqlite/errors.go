package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/pleat-dev/pleat"
)

// ErrBusy: another process kept the file locked for longer than Options.BusyTimeout.
// Nothing was written; try again.
var ErrBusy = errors.New("store is busy")

// code is the SQLite result code of an error, 0 if it is none of SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool { return code(err)&0xff == lib.SQLITE_BUSY }

// explain turns what the driver says into the project's errors, with the file's name
// and what to do about it.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	if _, damaged := errors.AsType[errDamaged](asDamage(err)); damaged {
		return fmt.Errorf("%s: %w: %v", s.path, pleat.ErrCorrupt, err)
	}
	switch c := code(err); c & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w: %v", s.path, pleat.ErrCorrupt, err)
	case lib.SQLITE_FULL:
		return s.full(err)
	case lib.SQLITE_IOERR:
		if cause := s.spaceProblem(); cause != nil {
			return s.full(cause)
		}
		return fmt.Errorf("%s: %w", s.path, err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%s: %w: %v", s.path, ErrBusy, err)
	}
	return err
}

func (s *Store) full(cause error) error {
	return fmt.Errorf("%s: %w: make room on its disk, or raise the limit of its size; nothing was written: %v", s.path, pleat.ErrFull, cause)
}

// spaceProblem asks the system why a write went wrong, which SQLite does not pass on:
// it tries to write as far out as the log reaches, in a file of its own.
func (s *Store) spaceProblem() error {
	var size int64
	for _, name := range []string{s.path, s.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size = max(size, info.Size())
		}
	}
	file, err := os.CreateTemp(filepath.Dir(s.path), ".pleat-space-*")
	if err == nil {
		defer os.Remove(file.Name())
		defer file.Close()
		_, err = file.WriteAt(make([]byte, 2*pageSize), size)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return nil
}

// fail finishes an operation's error: "verb object: reason". A cancelled context is
// told as such, whatever the driver made of it.
func (s *Store) fail(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && (code(err)&0xff == lib.SQLITE_INTERRUPT || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = ctx.Err()
	}
	return fmt.Errorf(format+": %w", append(args, s.explain(err))...)
}

// corrupt describes damage in the file.
func (s *Store) corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", s.path, fmt.Sprintf(format, args...), pleat.ErrCorrupt)
}
