package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// applicationID marks the file as ours: "plea" in the file's header.
const applicationID = 0x706c6561

// versions are those of the schema. A step is for good, and schema.sql is as all of them leave it.
// testdata has a file of each version.
var versions = rows.Versions{Oldest: 3}

// schema makes the tables. Every file has its statements, byte for byte. All names and texts are
// BLOBs: any bytes are allowed in them.
//
// Two indexes serve each lookup that must not miss anything (session_name and session_hash,
// entry_find1 and entry_find2): they are on different pages, so damage to one of them shows
// as a disagreement. docs/format.md has checksums, compression, encryption and texts.
//
// In session, id is never reused; tenant and name are the key; hash is SHA-256 over "key", tenant,
// name; head is the number of the newest entry, newest its id; kinds has for each kind, sorted, the
// kind and the number of its newest entry; bytes is the size of the bodies of all entries,
// uncompressed; first and last are times.
//
// In entry, id grows over all sessions; seq is the number in the session; prev is the number of the
// previous entry of the same kind, or 0; size and body are size and SHA-256 of the body, 0 and NULL
// without one; text is SHA-256 of the text; find1 and find2 are the first and second 8 bytes, as
// signed big-endian integers, of SHA-256 over "find", tenant, kind, label.
//
//go:embed schema.sql
var schema string

// checkFile says why the file cannot be used, if it cannot, brings it up to date, and sets its journal mode.
func (s *Store) checkFile(ctx context.Context) error {
	id, err := s.pragma(ctx, "application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return errors.New("the file is a SQLite database, but not a pleat store")
	}
	steps, err := s.missing(ctx, !s.base.ReadOnly)
	if err == nil && len(steps) > 0 {
		err = s.migrate(ctx)
	}
	if err != nil {
		return err
	}
	if err := checkSchema(ctx, s.conn); err != nil || s.base.ReadOnly {
		return err
	}
	var mode string
	if err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" { // another tool has changed it
		return s.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	}
	return nil
}

func (s *Store) pragma(ctx context.Context, name string) (n int, err error) {
	err = s.conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	return n, err
}

// missing returns the steps that bring the file up to date; see [rows.Versions.From].
func (s *Store) missing(ctx context.Context, may bool) ([]string, error) {
	version, err := s.pragma(ctx, "user_version")
	if err != nil {
		return nil, err
	}
	return versions.From(version, may)
}

// migrate brings the file up to date in one transaction, after a copy of it was made. Another process may have
// been faster.
func (s *Store) migrate(ctx context.Context) error {
	backup := ""
	err := s.transact(ctx, func(ctx context.Context) error {
		steps, err := s.missing(ctx, true)
		if err != nil || len(steps) == 0 {
			return err
		}
		now := time.Now().UTC().Format("20060102T150405.000Z")
		name := fmt.Sprintf("%s.v%d-%s", s.place, versions.Newest()-len(steps), now)
		if err := newFile(name, s.copyTo); err != nil {
			return fmt.Errorf("copy it to %s before it is brought up to date: %w", name, err)
		}
		backup = name
		steps = append(slices.Clone(steps), fmt.Sprintf("PRAGMA user_version = %d", versions.Newest()))
		_, err = s.conn.ExecContext(ctx, strings.Join(steps, ""))
		return err
	})
	if err != nil && backup != "" {
		return errors.Join(err, os.Remove(backup)) // it is what the file still is
	}
	return err
}

// Copies lists the copies of the store in a file that were made before it was brought up to date. Sessions that
// were forgotten since are still in them.
func Copies(path string) (found []string, err error) {
	dir, base := filepath.Split(path)
	name := regexp.MustCompile(`^\.?` + regexp.QuoteMeta(base) + `\.v\d+-\d{8}T\d{6}\.\d{3}Z(\.new-.*)?$`)
	files, err := os.ReadDir(filepath.Clean(dir))
	for _, file := range files {
		if name.MatchString(file.Name()) {
			found = append(found, filepath.Join(dir, file.Name()))
		}
	}
	return found, err
}

// copyTo copies the store into an empty file, as it was when this began.
func (s *Store) copyTo(path string) error {
	db, err := sql.Open("sqlite", s.source(commonPragmas))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), "VACUUM INTO ?", path)
	return errors.Join(err, db.Close())
}

// checkSchema compares the tables and indexes in the file with those that must be there.
func checkSchema(ctx context.Context, conn *sql.Conn) error {
	list := rows.Each(conn.QueryContext(ctx, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"))
	texts, err := rows.Collect(list, rows.Text)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(schema, ";") {
		statement = strings.TrimSpace(statement)
		if statement != "" && !slices.Contains(texts, statement) {
			name, _, _ := strings.Cut(statement, "(")
			return fmt.Errorf("schema: no %s as it should be: %w",
				strings.TrimPrefix(name, "CREATE "), store.ErrCorrupt)
		}
	}
	return nil
}
