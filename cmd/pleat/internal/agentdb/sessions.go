package agentdb

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/sessionlog"
)

// session is one of a database.
type session struct {
	id      string
	form    tables
	size    int64 // of what was said, in bytes
	said    int64 // when its newest message was written, in milliseconds
	changed int64 // when anything of it was
}

// mostSessions is how many sessions of a database are listed, the newest first; mostBytes is how large one may be.
const mostSessions, mostBytes = 100_000, 256 << 20

var errTooLarge = fmt.Errorf("the session has more than %d MB: %w", mostBytes>>20, sessionlog.ErrTooLarge)

// forms are those that a database has, as its tables and their columns tell. What only has their names,
// as a view does, is none.
func forms(ctx context.Context, conn *sql.Conn) (list []tables, err error) {
	has := func(table, column string) bool {
		var n int
		err = cmp.Or(err, conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
			WHERE t.type = 'table' AND t.rootpage > 0 AND t.name = ? AND c.name = ?`, table, column).Scan(&n))
		return n > 0
	}
	for _, f := range known {
		if has(f.sessions, "id") && has(f.messages, "session_id") && has(f.messages, f.body) &&
			(f.parts == "" || has(f.parts, f.body)) {
			list = append(list, f)
		}
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: it has no tables of an agent that pleat knows", sessionlog.ErrFormat)
	}
	return list, err
}

// sessions lists the sessions that have messages, or the one of that ID, the newest first. A session that is
// there in two forms is the one that was gone on with.
func sessions(ctx context.Context, conn *sql.Conn, id string) ([]session, error) {
	forms, err := forms(ctx, conn)
	if err != nil {
		return nil, err
	}
	all := make(map[string]session)
	for _, form := range forms {
		these, err := form.weigh(ctx, conn, id)
		if err != nil {
			return nil, err
		}
		for id, s := range these {
			if old, ok := all[id]; !ok || s.said > old.said {
				all[id] = *s
			}
		}
	}
	list := make([]session, 0, len(all))
	for _, s := range all {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b session) int {
		return cmp.Or(cmp.Compare(b.changed, a.changed), strings.Compare(a.id, b.id))
	})
	return list[:min(len(list), mostSessions)], nil
}

// weigh finds the sessions of a form. Of each row only its size and times are read.
func (f tables) weigh(ctx context.Context, conn *sql.Conn, id string) (map[string]*session, error) {
	all := make(map[string]*session)
	for _, table := range []string{f.messages, f.parts} {
		if table == "" {
			continue
		}
		query := fmt.Sprintf("SELECT session_id, %s, octet_length(%s) FROM %s", f.changed, f.body, table)
		args := []any{id}
		if id == "" {
			query, args = query+" NOT INDEXED", nil // in the order of the file
		} else {
			query += " WHERE session_id = ?"
		}
		rows, err := conn.QueryContext(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var of sql.RawBytes
			var changed, size sql.NullInt64
			if err := rows.Scan(&of, &changed, &size); err != nil {
				continue // what another type stands in is of no agent
			}
			s := all[string(of)]
			if s == nil && table == f.messages {
				s = &session{id: string(of), form: f}
				all[s.id] = s
			}
			if s != nil {
				s.size, s.changed = s.size+size.Int64, max(s.changed, changed.Int64)
				if table == f.messages {
					s.said = s.changed
				}
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lines writes a session as lines that package sessionlog reads: its own row, and that of each message with
// the parts of it.
func (s session) lines(ctx context.Context, conn *sql.Conn, path string) ([]byte, error) {
	w := writer{ctx: ctx, conn: conn, file: quoted(path)}
	if s.size > mostBytes {
		return nil, errTooLarge
	}
	w.doc.Grow(int(s.size))
	f := s.form
	w.each(func(r row) { w.printf("%s}\n", w.line(f, f.sessions, r)) }, "* FROM "+f.sessions+" WHERE id = ?", s.id)
	w.each(func(r row) {
		w.printf("%s", w.line(f, f.messages, r))
		if f.parts != "" {
			sep := `,"parts":[`
			w.each(func(part row) {
				w.printf("%s%s", sep, part.json(0))
				sep = ","
			}, f.body+" FROM "+f.parts+" WHERE message_id = ? ORDER BY id", r.get("id"))
			if sep == "," {
				w.printf("]")
			}
		}
		w.printf("}\n")
	}, "* FROM "+f.messages+" WHERE session_id = ? ORDER BY "+f.order, s.id)
	return w.doc.Bytes(), w.err
}

// writer writes rows as lines.
type writer struct {
	ctx  context.Context
	conn *sql.Conn
	file []byte
	doc  bytes.Buffer
	err  error
}

func (w *writer) line(f tables, table string, r row) string {
	return fmt.Sprintf(`{"db":"%s","table":"%s","file":%s,"row":%s`, f.agent, table, w.file, r.object())
}

func (w *writer) printf(format string, args ...any) {
	if fmt.Fprintf(&w.doc, format, args...); w.err == nil && w.doc.Len() > mostBytes {
		w.err = errTooLarge
	}
}

// each visits the rows of a query, until something fails.
func (w *writer) each(visit func(row), query string, args ...any) {
	if w.err != nil {
		return
	}
	rows, err := w.conn.QueryContext(w.ctx, "SELECT "+query, args...)
	if err != nil {
		w.err = err
		return
	}
	defer rows.Close()
	r := row{}
	r.names, err = rows.Columns()
	for err == nil && w.err == nil && rows.Next() {
		r.values = make([]any, len(r.names))
		into := make([]any, len(r.names))
		for i := range into {
			into[i] = &r.values[i]
		}
		if err = rows.Scan(into...); err == nil {
			visit(r)
		}
	}
	w.err = cmp.Or(w.err, err, rows.Err())
}

// row is a row of a table.
type row struct {
	names  []string
	values []any
}

func (r row) get(name string) any {
	if i := slices.Index(r.names, name); i >= 0 {
		return r.values[i]
	}
	return nil
}

func (r row) object() []byte {
	var b bytes.Buffer
	for i, name := range r.names {
		b.WriteByte(',')
		b.Write(quoted(name))
		b.WriteByte(':')
		b.Write(r.json(i))
	}
	object := append(b.Bytes(), '}')
	object[0] = '{'
	return object
}

// json is a value as JSON. What should be JSON and is none is a string, in which nobody finds anything.
func (r row) json(i int) []byte {
	v := r.values[i]
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if s, ok := v.(string); ok && columns[r.names[i]] && json.Valid([]byte(s)) {
		return bytes.ReplaceAll([]byte(s), []byte("\n"), []byte(" "))
	}
	data, err := json.Marshal(v)
	if err != nil { // infinity
		return []byte("null")
	}
	return data
}

func quoted(s string) []byte {
	data, _ := json.Marshal(s) // cannot fail
	return data
}
