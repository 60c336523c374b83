package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/store"
)

// migrations lead from each version of the schema to the next; the first from nothing
// to version 1. One that was released is never changed: a new one is added. While a step
// runs, processes of the version before it are at work, so a step may add tables and
// columns but not change what they rely on.
var migrations = []string{schema1, schema2}

// schema1 is version 1. All names are bytea: any bytes are allowed in them. Names may
// be longer than an index takes, so sessions are found by a hash over their names, and
// owner is 8 bytes of the hash of the tenant. Compressed bytes are kept as they are
// (EXTERNAL). docs/scale.md explains every column.
const schema1 = `
CREATE SEQUENCE pleat.moment;
CREATE TABLE pleat.session(
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner bigint NOT NULL,
	hash bytea NOT NULL UNIQUE,
	head bigint NOT NULL,
	bytes bigint NOT NULL,
	first bigint NOT NULL,
	last bigint NOT NULL,
	newest bigint NOT NULL,
	tenant bytea NOT NULL,
	name bytea NOT NULL,
	kinds bytea NOT NULL,
	sum bytea NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX session_owner ON pleat.session(owner);
CREATE TABLE pleat.entry(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	moment bigint NOT NULL,
	prev bigint NOT NULL,
	time bigint NOT NULL,
	size bigint NOT NULL,
	kind bytea NOT NULL,
	label bytea NOT NULL,
	body bytea,
	text bytea,
	find bytea,
	sum bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(session, seq)
);
CREATE INDEX entry_body ON pleat.entry(body, session) WHERE body IS NOT NULL;
CREATE INDEX entry_find ON pleat.entry(find, moment, seq) WHERE find IS NOT NULL;
CREATE TABLE pleat.blob(
	owner bigint NOT NULL,
	size bigint NOT NULL,
	codec smallint NOT NULL,
	hash bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(hash, owner)
);
ALTER TABLE pleat.blob ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pleat.text(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	size bigint NOT NULL,
	codec smallint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(session, seq)
);
ALTER TABLE pleat.text ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pleat.pending(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	done bigint NOT NULL,
	PRIMARY KEY(session, seq)
);
CREATE TABLE pleat.indexed(
	session bigint PRIMARY KEY,
	places bigint NOT NULL,
	words bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE pleat.place(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	start bigint NOT NULL,
	size bigint NOT NULL,
	line bigint NOT NULL,
	lines bigint NOT NULL,
	length bigint NOT NULL,
	words tsvector NOT NULL,
	PRIMARY KEY(session, seq, start)
);
CREATE INDEX place_words ON pleat.place USING gin(words);
`

// migrationLock is the advisory lock of whoever changes the schema: "pleat" in ASCII.
const migrationLock = 0x706c656174

// migrate brings the tables up to date, or says why they cannot be used. If they are up
// to date it only reads, so that a role without the right to create tables can work.
func (s *Store) migrate(ctx context.Context, conn *pgx.Conn) error {
	version, err := schemaVersion(ctx, conn)
	s.version = version
	if err != nil || version == len(migrations) {
		return err
	}
	if version == 0 && (s.opts.MustExist || s.opts.ReadOnly) {
		return fmt.Errorf("the database has no pleat store: %w", store.ErrNotFound)
	}
	if s.opts.ReadOnly {
		return nil
	}
	s.version = len(migrations)
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// A long step must not time out, neither here nor where others wait for it.
		if err := execAll(ctx, tx, "SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		version, err := schemaVersion(ctx, conn) // another process may have done it
		if err != nil || version == len(migrations) {
			return err
		}
		if version == 0 {
			if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS pleat;
				CREATE TABLE pleat.version(version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())`); err != nil {
				return err
			}
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.Exec(ctx, migrations[version]); err != nil {
				return fmt.Errorf("migrate to schema version %d: %w", version+1, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO pleat.version(version) VALUES($1)", version+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// schemaVersion reads the version of the tables, 0 if there are none.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (int, error) {
	// Ask the catalogue itself: to_regclass may answer from a cache that lacks what
	// another process created while this one waited for the lock.
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'pleat' AND c.relname = 'version')`).Scan(&there); err != nil || !there {
		return 0, err
	}
	var version int
	if err := conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM pleat.version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("schema version %d, this program knows %d: %w", version, len(migrations), store.ErrSchema)
	}
	if version < 1 {
		return 0, fmt.Errorf("the table pleat.version is empty: %w", store.ErrCorrupt)
	}
	return version, nil
}
