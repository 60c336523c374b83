//go:build linux || darwin

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// A disk that cannot take more is a full store, whatever the system calls it. The limit
// on file sizes stands for the disk: it stops writes in the same place.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path).Close()
	out, err := startChild(t, "limited", path, strconv.Itoa(1<<20)).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	last, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || last == 0 {
		t.Fatalf("child said %q", out)
	}
	st := open(t, path)
	key := store.SessionKey{Session: "a"}
	checkFull(t, st, key, last)
	put(t, st, key, last, fullEntry(last+1))
	checkFull(t, st, key, last+1)
	isWhole(t, st)
}

// writeUntilFull is the child: it fills the store, has it refuse more, gets its room
// back, goes on, and prints how much was acknowledged.
func writeUntilFull(path, size string) error {
	limit, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		return err
	}
	ctx, key, last := context.Background(), store.SessionKey{Session: "a"}, uint64(0)
	for range 1000 {
		next, appendErr := st.Append(ctx, key, last, fullEntry(last+1))
		if err = appendErr; err != nil {
			break
		}
		last = next
	}
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) {
		return fmt.Errorf("after %d entries: %v, want ErrFull with the path", last, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if last, err = st.Append(ctx, key, last, fullEntry(last+1)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	fmt.Println(last)
	return st.Close()
}
