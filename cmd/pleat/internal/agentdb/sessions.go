package agentdb

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
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
	if s.size > mostBytes {
		return nil, errTooLarge
	}
	var doc bytes.Buffer
	doc.Grow(int(s.size))
	f := s.form
	for _, part := range []struct{ table, columns, rest, parts string }{
		{f.sessions, f.about, "id = ?", "NULL"},
		{f.messages, f.body + " " + f.beside, "session_id = ? ORDER BY " + f.order, f.partsOf()},
	} {
		row, err := object(ctx, conn, part.table, part.columns)
		if err != nil {
			return nil, err
		}
		query := fmt.Sprintf(`SELECT json_object('db', ?, 'file', ?, 'table', ?, 'row', %s, 'parts', %s)
			FROM %s AS t WHERE %s`, row, part.parts, part.table, part.rest)
		rows, err := conn.QueryContext(ctx, query, string(f.agent), path, part.table, s.id)
		if err != nil {
			return nil, err
		}
		for rows.Next() && doc.Len() <= mostBytes {
			var line sql.RawBytes
			if err = rows.Scan(&line); err != nil {
				break
			}
			doc.Write(line)
			doc.WriteByte('\n')
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	if doc.Len() > mostBytes {
		return nil, errTooLarge
	}
	return doc.Bytes(), nil
}

func (f tables) partsOf() string {
	if f.parts == "" {
		return "NULL"
	}
	return fmt.Sprintf("(SELECT json_group_array(%s) FROM (SELECT %s FROM %s WHERE message_id = t.id ORDER BY id))",
		asJSON(f.body), f.body, f.parts)
}

// object is an expression for those of the columns that a table has, as a JSON object.
func object(ctx context.Context, conn *sql.Conn, table, columns string) (string, error) {
	const names = "SELECT ' ' || group_concat(name, ' ') || ' ' FROM pragma_table_info(?)"
	var has string
	err := conn.QueryRowContext(ctx, names, table).Scan(&has)
	var list []string
	for _, c := range strings.Fields(columns) {
		if strings.Contains(has, " "+c+" ") {
			list = append(list, fmt.Sprintf("'%s', %s", c, asJSON(c)))
		}
	}
	return "json_object(" + strings.Join(list, ", ") + ")", err
}

// asJSON is an expression for a value: an object or a list as such, else as SQLite has it. What should be JSON and
// is none is a string, in which nobody finds anything.
func asJSON(column string) string {
	return strings.ReplaceAll(`CASE WHEN typeof(@) = 'blob' THEN hex(@)
		WHEN json_valid(@) AND substr(@, 1, 1) IN ('{', '[') THEN json(@) ELSE @ END`, "@", column)
}

// tables is a form in which an agent keeps sessions in a database: a table of sessions, whose key is id, and one with
// a row for each message, which says its session in session_id.
type tables struct {
	agent    sessionlog.Format
	sessions string
	about    string // its columns that are read, as far as they are there
	messages string
	body     string // the column with what was said, by which the form is known
	beside   string // others that are read, as far as they are there
	order    string // of the messages
	changed  string // when a message was written, in milliseconds
	parts    string // a table with what was said in a message, in the same column; "": there is none
}

const aboutOpenCode = "id parent_id title directory version"

// known are the forms, the newest of an agent first.
var known = []tables{
	{
		sessionlog.OpenCode, "session_v2", aboutOpenCode, "session_message", "data", "type time_created", "seq",
		"time_updated", "",
	},
	{ // what 1.18 is told to keep in the newer form
		sessionlog.OpenCode, "session", aboutOpenCode, "session_message", "data", "type time_created", "seq",
		"time_updated", "",
	},
	{
		sessionlog.OpenCode, "session", aboutOpenCode, "message", "data", "time_created", "time_created, id",
		"time_updated", "part",
	},
	{
		"goose", "sessions", "id name description working_dir model_config_json " +
			"accumulated_input_tokens accumulated_output_tokens",
		"messages", "content_json", "role created_timestamp metadata_json", "id", "created_timestamp * 1000", "",
	},
	{
		"crush", "sessions", "id title parent_session_id cost", "messages", "parts",
		"role model created_at is_summary_message", "created_at, rowid", "updated_at * 1000", "",
	},
}
