package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

// versions are those of the schema. A step is for good, and schema.sql is as all of them leave it.
// testdata has the tables of each version.
var versions = rows.Versions{Oldest: 2}

// schema makes the tables. All names are bytea: any bytes are allowed in them. Names may
// be longer than an index takes, so sessions are found by a hash over their names, and
// owner is 8 bytes of the hash of the tenant. Compressed bytes are kept as they are
// (EXTERNAL). docs/format.md explains the columns.
//
//go:embed schema.sql
var schema string

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
