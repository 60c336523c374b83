package sqlite

import (
	"context"
	"database/sql"

	"github.com/pleat-dev/pleat/internal/rows"
)

const (
	entryColumns = "e.id, " + rows.EntryColumns
	// A session by its names, and once more by the hash over them.
	selectSession = "SELECT " + rows.SessionColumns + ` FROM session s INDEXED BY session_name
			WHERE s.tenant = ? AND s.name = ?
		UNION ALL SELECT ` + rows.SessionColumns + " FROM session s INDEXED BY session_hash WHERE s.hash = ?"
	selectEntries = "SELECT " + entryColumns + " FROM entry e INDEXED BY entry_seq WHERE e.session = ? AND e.seq >= ?"
	// One statement sees one moment: the entry and its body, or neither.
	selectBody = "SELECT " + entryColumns + ", b.size, b.codec, b.data FROM entry e INDEXED BY entry_body " +
		"LEFT JOIN blob b INDEXED BY blob_hash ON b.hash = e.body AND b.tenant = ? WHERE e.body = ? " +
		"AND e.session = ? LIMIT 1"
	selectText = "SELECT " + entryColumns + ", " + rows.TextColumns +
		" FROM entry e JOIN session s ON s.id = e.session " +
		"LEFT JOIN text t ON t.entry = e.id LEFT JOIN blob b ON b.hash = e.body AND b.tenant = s.tenant WHERE e.id = ?"
)

// selectFound finds the newest entry for each pair of keys, by the first key, and what the
// second key leads to.
const selectFound = `WITH k(i, first, second) AS MATERIALIZED (SELECT key,
		(SELECT max(id) FROM entry INDEXED BY entry_find1 WHERE find1 = value->>0),
		(SELECT max(id) FROM entry INDEXED BY entry_find2 WHERE find2 = value->>1) FROM json_each(?))
	SELECT ` + entryColumns + `, s.tenant, s.name, k.i, k.second FROM k
	LEFT JOIN entry e ON e.id = k.first LEFT JOIN session s ON s.id = e.session
	WHERE k.first IS NOT NULL OR k.second IS NOT NULL`

const (
	selectPage  = selectEntries + " ORDER BY e.seq LIMIT ?"
	selectPlace = "SELECT seq, line, lines, start, size FROM place WHERE id = ?"
	selectWord  = "SELECT doc FROM word_at WHERE term = ? LIMIT ?"
)

// prepare prepares the statements of the readers. Those of the writer are prepared when they are first used.
func (s *Store) prepare(ctx context.Context) error {
	s.write, s.query = make(map[string]*sql.Stmt), make(map[string]*sql.Stmt)
	for _, text := range []string{selectSession, selectPage, selectBody, selectFound, selectPlace, selectWord} {
		stmt, err := s.read.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		s.query[text], s.opened = stmt, append(s.opened, stmt)
	}
	return nil
}

// stmt is a statement of the writer's connection. The caller has the turn.
func (s *Store) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt := s.write[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err == nil {
		s.write[text], s.opened = stmt, append(s.opened, stmt)
	}
	return stmt, err
}

// exec runs a statement of the writer's connection.
func (s *Store) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	stmt, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// get reads the only row of a query on the writer's connection.
func (s *Store) get(ctx context.Context, text string, args []any, into ...any) error {
	stmt, err := s.stmt(ctx, text)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(into...)
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func lastID(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
