package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// applicationID marks the file as ours: "plea" in the file's header.
const applicationID = 0x706c6561

// migrations lead from each version of the schema to the next; the first from nothing
// to version 1. One that was released is never changed: a new one is added.
var migrations = []string{schema1, schema2, schema3}

// schema1 is version 1. All names and texts are BLOBs: any bytes are allowed in them.
//
// Two indexes serve each lookup that must not miss anything (session_name and session_hash,
// entry_find1 and entry_find2): they are on different pages, so damage to one of them shows
// as a disagreement. docs/format.md explains every column.
const schema1 = `
CREATE TABLE session(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant BLOB NOT NULL,
	name BLOB NOT NULL,
	hash BLOB NOT NULL,
	head INTEGER NOT NULL,
	kinds BLOB NOT NULL,
	bytes INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	newest INTEGER NOT NULL,
	sum BLOB NOT NULL
);
CREATE UNIQUE INDEX session_name ON session(tenant, name);
CREATE UNIQUE INDEX session_hash ON session(hash);
CREATE TABLE entry(
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	prev INTEGER NOT NULL,
	kind BLOB NOT NULL,
	label BLOB NOT NULL,
	time INTEGER NOT NULL,
	size INTEGER NOT NULL,
	body BLOB,
	text BLOB,
	find1 INTEGER,
	find2 INTEGER,
	sum BLOB NOT NULL,
	data BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_seq ON entry(session, seq);
CREATE INDEX entry_body ON entry(body, session) WHERE body IS NOT NULL;
CREATE INDEX entry_find1 ON entry(find1) WHERE find1 IS NOT NULL;
CREATE INDEX entry_find2 ON entry(find2) WHERE find2 IS NOT NULL;
CREATE TABLE blob(
	id INTEGER PRIMARY KEY,
	tenant BLOB NOT NULL,
	hash BLOB NOT NULL,
	size INTEGER NOT NULL,
	codec INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE UNIQUE INDEX blob_hash ON blob(hash, tenant);
CREATE TABLE text(
	entry INTEGER PRIMARY KEY,
	size INTEGER NOT NULL,
	codec INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE TABLE pending(
	session INTEGER NOT NULL,
	entry INTEGER NOT NULL,
	done INTEGER NOT NULL,
	PRIMARY KEY(session, entry)
) WITHOUT ROWID;
CREATE TABLE indexed(
	session INTEGER PRIMARY KEY,
	places INTEGER NOT NULL,
	words INTEGER NOT NULL
);
CREATE TABLE place(
	id INTEGER PRIMARY KEY,
	seq INTEGER NOT NULL,
	line INTEGER NOT NULL,
	lines INTEGER NOT NULL,
	start INTEGER NOT NULL,
	size INTEGER NOT NULL
);
CREATE VIRTUAL TABLE word USING fts5(words, content='', contentless_delete=1, tokenize="ascii tokenchars '/._-'");
CREATE VIRTUAL TABLE word_at USING fts5vocab(word, instance);
`

// schema3 changes no table: from here on bodies and texts may be packed in ways that
// programs of version 2 cannot read.
const schema3 = "PRAGMA user_version = 3;"

// migrate brings the file up to date, or says why it cannot be used.
func (s *Store) migrate(ctx context.Context) error {
	version, err := schemaVersion(ctx, s.conn)
	if err != nil {
		return err
	}
	if version < len(migrations) && !s.base.ReadOnly {
		if err := s.begin(ctx); err != nil {
			return err
		}
		// Another process may have done it while this one waited.
		if version, err = schemaVersion(ctx, s.conn); err == nil {
			err = runMigrations(ctx, s.conn, version)
		}
		if err := commit(ctx, s.conn, err); err != nil {
			return err
		}
		version = len(migrations)
	}
	s.version = version
	if err := checkSchema(ctx, s.conn, migrations[:version]); err != nil || s.base.ReadOnly {
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

// schemaVersion reads the version of a store. It fails if the file is not one.
func schemaVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var id, version int
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	switch {
	case id != applicationID:
		return 0, errors.New("the file is a SQLite database, but not a pleat store")
	case version > len(migrations):
		return 0, fmt.Errorf("schema version %d, this program knows %d: %w", version, len(migrations), store.ErrSchema)
	case version < 1:
		return 0, fmt.Errorf("schema version %d: %w", version, store.ErrCorrupt)
	}
	return version, nil
}

// runMigrations runs inside a transaction of its caller.
func runMigrations(ctx context.Context, conn *sql.Conn, version int) error {
	for ; version < len(migrations); version++ {
		if _, err := conn.ExecContext(ctx, migrations[version]); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", version+1, err)
		}
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
	return err
}

// checkSchema compares the tables and indexes in the file with those that must be there.
func checkSchema(ctx context.Context, conn *sql.Conn, migrations []string) error {
	texts, err := rows.Collect(rows.Each(conn.QueryContext(ctx, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")), rows.Text)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(strings.Join(migrations, ""), ";") {
		statement = strings.TrimSpace(statement)
		if strings.HasPrefix(statement, "CREATE ") && !slices.Contains(texts, statement) {
			name, _, _ := strings.Cut(statement, "(")
			return fmt.Errorf("schema: no %s as it should be: %w", strings.TrimPrefix(name, "CREATE "), store.ErrCorrupt)
		}
	}
	return nil
}
