package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/pleat-dev/pleat/store"
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

// Misfit goes by the text: database/sql has no type for it.
func (t tables) Misfit(err error) bool {
	return code(err) == 0 && strings.Contains(err.Error(), "sql: Scan error on column index")
}

func (t tables) Interrupted(err error) bool { return code(err)&0xff == lib.SQLITE_INTERRUPT }

func (t tables) Explain(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w: %v", t.path, store.ErrCorrupt, err)
	case lib.SQLITE_FULL:
		return t.full(err)
	case lib.SQLITE_IOERR:
		if cause := t.spaceProblem(); cause != nil {
			return t.full(cause)
		}
		return fmt.Errorf("%s: %w", t.path, err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%s: %w: %v", t.path, ErrBusy, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("%s: %w: %v", t.path, store.ErrReadOnly, err)
	}
	return err
}

func (s *Store) full(cause error) error {
	return fmt.Errorf("%s: %w: free space on its disk, or raise the limit of its size; nothing was written: %v",
		s.path, store.ErrFull, cause)
}

// spaceProblem finds out why a write failed, which SQLite does not say: it writes as far
// out as the log reaches, in a file of its own.
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
