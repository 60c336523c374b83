// Package textindex keeps what sessions say in a file of its own, so that a search over all of them opens
// none. What it has is found by the words of package search, and can be read again from the sessions: a
// damaged index, or one of another version, is thrown away.
package textindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// schema makes the tables. The number of a page is made of the session's, which is never used again, and its
// place there. Of FTS5 only the words are needed and which pages have them: neither the text nor where in it.
const schema = `
CREATE TABLE session(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE,
	stamp TEXT NOT NULL,
	messages INTEGER NOT NULL,
	about BLOB NOT NULL
);
CREATE TABLE page(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE VIRTUAL TABLE word USING fts5(
	words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '/._-'"
);
INSERT INTO word(word, rank) VALUES('hashsize', 16777216);
`

// version is that of the schema, of what a page holds, and of the words of package search.
const version = 1

// pageBits is how much of a page's number is its place in the session.
const pageBits = 20

// Index is an index in a file. Several processes may use it at once.
type Index struct{ db *sql.DB }

// Open opens the index in a file and makes it if there is none, so that only its owner can read it. Without a file
// it is in memory until it is closed.
func Open(ctx context.Context, path string) (*Index, error) {
	x, err := open(ctx, path)
	if errors.Is(err, errVersion) {
		if err = Remove(path); err == nil {
			x, err = open(ctx, path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the search index %s: %w", path, err)
	}
	return x, nil
}

var errVersion = errors.New("the index is of another version")

func open(ctx context.Context, path string) (*Index, error) {
	where, err := place(path)
	if err != nil {
		return nil, err
	}
	where.RawQuery = url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(1)", "trusted_schema(0)",
	}}.Encode()
	db, err := sql.Open("sqlite", where.String())
	if err != nil {
		return nil, err
	}
	if path == "" { // each connection has a memory of its own
		db.SetMaxOpenConns(1)
	}
	x := &Index{db}
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

// place is where the index is. A file is made if it is not there.
func place(path string) (where *url.URL, err error) {
	if path == "" {
		return &url.URL{Scheme: "file", Opaque: ":memory:"}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives its log the same mode
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return &url.URL{Scheme: "file", Path: path}, nil
}

// prepare makes the tables of a new file.
func (x *Index) prepare(ctx context.Context) error {
	return x.update(ctx, func(tx *sql.Tx) error {
		var v int
		err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
		if err == nil && v == 0 {
			v = version
			_, err = tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA user_version = %d", schema, version))
		}
		if err == nil && v != version {
			err = errVersion
		}
		return err
	})
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// Remove deletes the index in a file, or another database, if there is one.
func Remove(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// IsDamaged reports whether an error says that the file is no index any more.
func IsDamaged(err error) bool {
	if errors.Is(err, errPage) {
		return true
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := failed.Code() & 0xff
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

func (x *Index) update(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := change(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// each calls visit for every row of a query.
func (x *Index) each(ctx context.Context, visit func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Stamps returns what sessions were like when they were read, by their names.
func (x *Index) Stamps(ctx context.Context) (map[string]string, error) {
	stamps := make(map[string]string)
	err := x.each(ctx, func(scan func(...any) error) error {
		var name, stamp string
		err := scan(&name, &stamp)
		stamps[name] = stamp
		return err
	}, "SELECT name, stamp FROM session")
	return stamps, err
}

// Put stores a session in place of what there was of it.
func (x *Index) Put(ctx context.Context, name, stamp string, s *Session) error {
	s.flush()
	return x.update(ctx, func(tx *sql.Tx) error {
		if err := drop(ctx, tx, name); err != nil {
			return err
		}
		const add = "INSERT INTO session(name, stamp, messages, about) VALUES(?, ?, ?, ?)"
		row, err := tx.ExecContext(ctx, add, name, stamp, s.Messages, s.About)
		if err != nil {
			return err
		}
		id, err := row.LastInsertId()
		if err != nil {
			return err
		}
		for i, p := range s.pages {
			at := id<<pageBits | int64(i)
			if _, err := tx.ExecContext(ctx, "INSERT INTO page VALUES(?, ?)", at, p.data); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO word(rowid, words) VALUES(?, ?)", at, p.words); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drop takes sessions out, with every word of them.
func (x *Index) Drop(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return x.update(ctx, func(tx *sql.Tx) error {
		if err := drop(ctx, tx, names...); err != nil {
			return err
		}
		// Deleted rows leave their words behind until the index is merged.
		_, err := tx.ExecContext(ctx, "INSERT INTO word(word) VALUES('optimize')")
		return err
	})
}

func drop(ctx context.Context, tx *sql.Tx, names ...string) error {
	for _, name := range names {
		var id int64
		err := tx.QueryRowContext(ctx, "DELETE FROM session WHERE name = ? RETURNING id", name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		from, to := id<<pageBits, (id+1)<<pageBits-1
		if _, err := tx.ExecContext(ctx, "DELETE FROM word WHERE rowid IN (SELECT id FROM page WHERE id BETWEEN ? AND ?)",
			from, to); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM page WHERE id BETWEEN ? AND ?", from, to); err != nil {
			return err
		}
	}
	return nil
}

// Found is a session with pages that have some of the words that were asked for.
type Found struct {
	Messages int
	About    []byte // what was put with it
	Pages    []Page
}

// Page is a page that has some of the words.
type Page struct {
	id  int64
	Has int // how many of the words it has
}

// Find finds the pages that have one of the words, each given in its forms, by the names of their sessions.
func (x *Index) Find(ctx context.Context, words [][]string) (map[string]*Found, error) {
	sessions, found := make(map[int64]*Found), make(map[string]*Found)
	err := x.each(ctx, func(scan func(...any) error) error {
		var id int64
		var name string
		var s Found
		err := scan(&id, &name, &s.Messages, &s.About)
		sessions[id], found[name] = &s, &s
		return err
	}, "SELECT id, name, messages, about FROM session")
	if err != nil {
		return nil, err
	}
	has := make(map[int64]int)
	for _, forms := range words {
		err := x.each(ctx, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			has[id]++
			return err
		}, "SELECT rowid FROM word WHERE word MATCH ?", `"`+strings.Join(forms, `" OR "`)+`"`)
		if err != nil {
			return nil, err
		}
	}
	for id, n := range has {
		if s := sessions[id>>pageBits]; s != nil { // else it was deleted meanwhile
			s.Pages = append(s.Pages, Page{id, n})
		}
	}
	for name, s := range found {
		if len(s.Pages) == 0 && len(words) > 0 {
			delete(found, name)
		}
	}
	return found, nil
}
