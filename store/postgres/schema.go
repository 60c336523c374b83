package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// versions are those of the schema. A step is for good, and the schema below is as all of them leave it.
// testdata has the tables of each version.
var versions = rows.Versions{Oldest: 2}

// schema makes the tables. All names are bytea: any bytes are allowed in them. Names may
// be longer than an index takes, so sessions are found by a hash over their names, and
// owner is 8 bytes of the hash of the tenant. Compressed bytes are kept as they are
// (EXTERNAL). docs/format.md explains the columns.
const schema = `
CREATE SCHEMA IF NOT EXISTS pleat;
CREATE TABLE pleat.version(version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());
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
CREATE TABLE pleat.claim(
	work bytea PRIMARY KEY,
	token bytea NOT NULL,
	expires timestamptz NOT NULL
);
CREATE INDEX claim_expires ON pleat.claim(expires);
`

// schemaLock is the advisory lock of whoever makes or changes the tables: "pleat" in ASCII.
const schemaLock = 0x706c656174

// newestVersion is read with every change: a newer program may have brought the tables up to date meanwhile.
const newestVersion = "SELECT coalesce(max(version), 0) FROM pleat.version"

// prepareTables makes the tables or brings them up to date, or says why it cannot or must not. If they are as
// they must be it only reads, so that a role without the right to create tables can work.
func (s *Store) prepareTables(ctx context.Context, conn *pgx.Conn) error {
	steps, err := s.missing(ctx, conn)
	if err != nil || len(steps) == 0 {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return err
		}
		steps, err := s.missing(ctx, conn) // another process may have taken them
		if err != nil || len(steps) == 0 {
			return err
		}
		return execAll(ctx, tx, append(slices.Clone(steps),
			fmt.Sprintf("INSERT INTO pleat.version(version) VALUES(%d)", versions.Newest()))...)
	})
}

// missing returns the statements that make the tables or bring them up to date, none if they are as they must be.
func (s *Store) missing(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	// Ask the catalogue itself: to_regclass may answer from a cache that lacks what
	// another process created while this one waited for the lock.
	var there bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'pleat' AND c.relname = 'version')`).Scan(&there)
	if err != nil {
		return nil, err
	}
	if !there && (s.opts.MustExist || s.opts.ReadOnly) {
		return nil, fmt.Errorf("the database has no pleat store: %w", store.ErrNotFound)
	}
	if !there {
		return []string{schema}, nil
	}
	var version int
	if err := conn.QueryRow(ctx, newestVersion).Scan(&version); err != nil {
		return nil, err
	}
	steps, err := versions.From(version, s.opts.Migrate && !s.opts.ReadOnly)
	if len(steps) > 0 { // the lock waits for Appends under way; later ones see the new version
		steps = append([]string{
			"SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0",
			"LOCK TABLE pleat.session IN EXCLUSIVE MODE",
		}, steps...)
	}
	return steps, err
}
