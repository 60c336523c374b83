package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/pleat-dev/pleat/store"
)

const (
	pageSize   = 4096
	maxReaders = 8
)

// The settings of the connections. Synchronous FULL is the promise of durability;
// secure_delete the promise that Forget forgets; cell_size_check finds damaged pages
// sooner. The writer's busy timeout is short because [Store.begin] repeats the attempt.
var (
	commonPragmas = []string{"synchronous(FULL)", "cell_size_check(1)", "trusted_schema(0)"}
	writerPragmas = append([]string{"busy_timeout(100)", "secure_delete(1)"}, commonPragmas...)
	readerPragmas = append([]string{"query_only(1)"}, commonPragmas...)
)

// dataSource names the file for the driver. Any character may be in the path.
func dataSource(path string, pragmas ...string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// InUse fails with [ErrBusy] if this process or another has the store in a file open: all of
// them hold a lock that they share, so that nobody can have it alone.
func InUse(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := sql.Open("sqlite", dataSource(path, "locking_mode(EXCLUSIVE)"))
	if err != nil {
		return err
	}
	defer db.Close()
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if c := code(err) & 0xff; c == lib.SQLITE_CORRUPT || c == lib.SQLITE_NOTADB {
		return nil // what is damaged is not in use
	}
	if isBusy(err) {
		return ErrBusy
	}
	return err
}

// prepareFile creates the file if it does not exist, and otherwise checks that it can be a store.
func prepareFile(path string, mustExist bool, log *slog.Logger) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !mustExist {
		return create(path)
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info.Size() == 0 {
		// create never leaves an empty file behind, so something has emptied it.
		return fmt.Errorf("the file is empty; delete it to start over: %w", store.ErrCorrupt)
	}
	if info.Mode().Perm()&0o077 != 0 {
		log.Warn("store is accessible to others than its owner", "mode", info.Mode().Perm())
	}
	return checkLog(path + "-wal")
}

// noLog reports whether nothing is in the log of the store at path.
func noLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// create makes an empty store and the folders for it. If another process was faster, its file is used.
func create(path string) error {
	dir := filepath.Dir(path)
	_, err := os.Stat(dir)
	newDir := err != nil
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := newFile(path, writeSchema); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if newDir {
		syncDir(filepath.Dir(dir))
	}
	return nil
}

// newFile makes a file under another name and then gives it its own, so that nobody ever sees half of one. A
// file that is there stays as it is.
func newFile(path string, write func(path string) error) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	temp := file.Name()
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if e := os.Remove(temp + suffix); err == nil && e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = e
			}
		}
	}()
	err = write(temp)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(temp, path); err != nil {
		return fmt.Errorf("%w (the file system must have hard links)", err)
	}
	syncDir(dir)
	return nil
}

// writeSchema makes an empty store in a file that nobody else uses yet. The caller syncs
// the whole file, so SQLite need not.
func writeSchema(path string) error {
	db, err := sql.Open("sqlite", dataSource(path, "journal_mode(MEMORY)", "synchronous(OFF)"))
	if err != nil {
		return err
	}
	text := fmt.Sprintf(
		"BEGIN;%sPRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT; PRAGMA journal_mode = WAL",
		schema, applicationID, versions.Newest())
	_, err = db.ExecContext(context.Background(), text)
	return errors.Join(err, db.Close())
}

// syncDir makes a new directory entry durable, where the system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // some systems cannot sync directories, and have no need to
		_ = d.Close()
	}
}
