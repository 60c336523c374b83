package sqlite

import (
	"context"
	"database/sql"

	"github.com/pleat-dev/pleat/internal/rows"
)

// statements are those of the writer's connection, prepared once.
type statements struct {
	session, addSession, setSession            *sql.Stmt
	sealer, seal                               *sql.Stmt
	addEntry, addBlob, getBlob, setBlob        *sql.Stmt
	addText, copyText, addPending              *sql.Stmt
	getIndexed, setIndexed, addWords, addPlace *sql.Stmt
	setPending, endPending                     *sql.Stmt
}

// queries are those of the readers.
type queries struct {
	session, entries, body, place, wordAt, find *sql.Stmt
}

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

type preparation struct {
	stmt **sql.Stmt
	text string
}

// prepare prepares the statements of the writer's connection and those of the readers.
func (s *Store) prepare(ctx context.Context) error {
	w, q := &s.write, &s.query
	err := s.prepareAll(ctx, s.conn.PrepareContext, []preparation{
		{&w.session, selectSession},
		{&w.sealer, pages.Sealer},
		{&w.seal, `INSERT OR REPLACE INTO claim(work, token, expires)
			VALUES(CAST('sealed' AS BLOB), ?, 9223372036854775807)`},
		{&w.addSession, `INSERT INTO session(tenant, name, hash, head, kinds, bytes, first, last, newest, sum)
			VALUES(?, ?, ?, 0, '', 0, 0, 0, 0, '')`},
		{&w.setSession, `UPDATE session SET head = ?, kinds = ?, bytes = ?, first = ?, last = ?, newest = ?, sum = ?
			WHERE id = ?`},
		{&w.addEntry, `INSERT INTO entry(session, seq, prev, kind, label, time, size, body, text, find1, find2, sum, data)
			VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&w.addBlob, "INSERT INTO blob(tenant, hash, size, codec, data) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&w.getBlob, "SELECT size, codec, data FROM blob WHERE hash = ? AND tenant = ?"},
		{&w.setBlob, "UPDATE blob SET size = ?, codec = ?, data = ? WHERE hash = ? AND tenant = ?"},
		{&w.addText, "INSERT INTO text(entry, size, codec, data) VALUES(?, ?, ?, ?)"},
		{
			&w.copyText,
			"INSERT INTO text(entry, size, codec, data) SELECT ?, size, codec, data FROM text WHERE entry = ?",
		},
		{&w.addPending, "INSERT INTO pending(session, entry, done) VALUES(?, ?, 0)"},
		{&w.getIndexed, "SELECT places, words FROM indexed WHERE session = ?"},
		{&w.setIndexed, "INSERT OR REPLACE INTO indexed(session, places, words) VALUES(?, ?, ?)"},
		{&w.addWords, "INSERT INTO word(rowid, words) VALUES(?, ?)"},
		{&w.addPlace, "INSERT INTO place(id, seq, line, lines, start, size) VALUES(?, ?, ?, ?, ?, ?)"},
		{&w.setPending, "UPDATE pending SET done = ? WHERE session = ? AND entry = ? AND done = ?"},
		{&w.endPending, "DELETE FROM pending WHERE session = ? AND entry = ? AND done = ?"},
	})
	if err != nil {
		return err
	}
	return s.prepareAll(ctx, s.read.PrepareContext, []preparation{
		{&q.session, selectSession},
		{&q.entries, selectEntries + " ORDER BY e.seq LIMIT ?"},
		{&q.body, selectBody},
		{&q.place, "SELECT seq, line, lines, start, size FROM place WHERE id = ?"},
		{&q.find, selectFound},
		{&q.wordAt, "SELECT doc FROM word_at WHERE term = ? LIMIT ?"},
	})
}

func (s *Store) prepareAll(
	ctx context.Context, prepare func(context.Context, string) (*sql.Stmt, error), list []preparation,
) (err error) {
	for _, p := range list {
		if *p.stmt, err = prepare(ctx, p.text); err != nil {
			return err
		}
		s.opened = append(s.opened, *p.stmt)
	}
	return nil
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
