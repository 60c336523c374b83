package agentdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// reading is held while a database is read: what this process has locked is unlocked when it closes any
// descriptor of the file.
var reading sync.Mutex

// version tells whether a database has changed.
type version struct {
	size, log       int64
	written, logged time.Time
}

func versionOf(path string) (v version, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return v, err
	}
	if !info.Mode().IsRegular() {
		return v, errors.New("not a regular file")
	}
	v.size, v.written = info.Size(), info.ModTime()
	for _, suffix := range []string{"-wal", "-journal"} {
		if log, err := os.Stat(path + suffix); err == nil && log.Size() > 0 {
			v.log, v.logged = log.Size(), log.ModTime()
		}
	}
	return v, nil
}

// errBusy says that a database was being written to, all of the time.
var errBusy = errors.New("it is being written to; try again")

// read lets visit read a database as it is at one moment. Nothing is written, neither to the database nor
// beside it, and its agent is not kept waiting:
//
//   - With a write-ahead log, the log and its index are read under the lock of a reader, as the agent's own
//     are: it can write meanwhile. The index is not made if it is not there, nor mended.
//   - Without one there is nothing beside the file, and it is read as it is, without a lock. If it has
//     changed when it has been read, it is read again.
func read(ctx context.Context, path string, visit func(*sql.Conn) error) error {
	reading.Lock()
	defer reading.Unlock()
	for range 5 {
		before, err := versionOf(path)
		if err != nil {
			return err
		}
		if err := whole(path, before); err != nil {
			return err
		}
		err = readOnce(ctx, path, before.log > 0, visit)
		after, _ := versionOf(path)
		if before.log > 0 && err == nil || before == after || ctx.Err() != nil {
			return explain(err)
		}
	}
	return errBusy
}

// whole reports what there has to be and is not: a log is nothing without its index, a journal is what is
// left of an agent that was killed, or is about to go.
func whole(path string, v version) error {
	has := func(suffix string) bool {
		info, err := os.Stat(path + suffix)
		return err == nil && info.Size() > 0
	}
	switch base := filepath.Base(path); {
	case v.log > 0 && has("-wal") && !has("-shm"):
		return fmt.Errorf("%s-wal is there without %[1]s-shm: the database was copied, or another program has it "+
			"for itself; its agent puts that right when it is started", base)
	case has("-journal"):
		return fmt.Errorf("%s-journal is there: the database is being written to, or its agent was killed and "+
			"puts it right when it is started", base)
	case v.size == 0:
		return errors.New("the database is empty")
	}
	return nil
}

// longest is the most bytes that a value of a foreign database may have.
const longest = 64 << 20

func readOnce(ctx context.Context, path string, logged bool, visit func(*sql.Conn) error) error {
	query := url.Values{"mode": {"ro"}, "_pragma": {
		"query_only(1)", "trusted_schema(0)", "temp_store(MEMORY)", "busy_timeout(1000)",
	}}
	if logged {
		query.Set("readonly_shm", "1")
	} else {
		query.Set("immutable", "1")
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	if !strings.HasPrefix(name.Path, "/") {
		name.Path = "/" + name.Path // C:/…
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, lib.SQLITE_LIMIT_LENGTH, longest); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return visit(conn)
}

// explain says what is wrong with a database in words of its reader.
func explain(err error) error {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch failed.Code() & 0xff {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("it is no SQLite database: %w", err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("the database is damaged or cut off: %w", err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return fmt.Errorf("another program has the database for itself: %w", err)
	case lib.SQLITE_TOOBIG:
		return fmt.Errorf("a value has more than %d MB: %w", longest>>20, err)
	}
	return err
}
