package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// A scan reads a page, gives the connection back, and only then yields: the loop's body
// may take as long as it likes and use the store as it likes. Pages grow and shrink
// with the size of what is in them.
const (
	firstRows = 128
	mostRows  = 2048
	pageBytes = 1 << 20
)

const (
	// A session is found by the hash over its names; the names are compared as well.
	sessionWhere  = "s.hash = $1 AND s.tenant = $2 AND s.name = $3"
	selectSession = "SELECT " + sessionColumns + " FROM pleat.session s WHERE " + sessionWhere
	selectEntries = "SELECT " + entryColumns + " FROM pleat.entry e WHERE e.session = $1 AND e.seq >= $2"
	// One statement sees one moment: the session, its entry and the body, or none.
	selectBody = "SELECT " + entryColumns + ", b.size, b.codec, b.data FROM pleat.session s " +
		"JOIN pleat.entry e ON e.session = s.id AND e.body = $4 " +
		"LEFT JOIN pleat.blob b ON b.hash = e.body AND b.owner = s.owner WHERE " + sessionWhere + " LIMIT 1"
)

func sessionArgs(key pleat.SessionKey, more ...any) []any {
	return append([]any{sessionHash(key), column(key.Tenant), column(key.Session)}, more...)
}

// readSessionOf reads a session row; without a row it returns nil.
func (s *Store) readSessionOf(key pleat.SessionKey, row scanner) (*session, error) {
	x, err := readSession(row)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return nil, s.corrupt("session %q: %s", key, damaged.what)
	}
	return x, err
}

// session finds a session; nil if there is none.
func (s *Store) session(ctx context.Context, key pleat.SessionKey) (*session, error) {
	var x *session
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		x, err = s.readSessionOf(key, conn.QueryRow(ctx, selectSession, sessionArgs(key)...))
		return err
	})
	return x, err
}

// Scan implements [pleat.Store].
func (s *Store) Scan(ctx context.Context, key pleat.SessionKey, from uint64, kinds ...pleat.EntryKind) iter.Seq2[pleat.Entry, error] {
	return func(yield func(pleat.Entry, error) bool) {
		for r, err := range s.scan(ctx, key, from, kinds) {
			if err != nil {
				yield(pleat.Entry{}, s.fail(ctx, err, "scan session %q", key))
				return
			}
			if !yield(r.Entry, nil) {
				return
			}
		}
	}
}

// scan yields checked records up to the entry that is the newest when it begins.
func (s *Store) scan(ctx context.Context, key pleat.SessionKey, from uint64, kinds []pleat.EntryKind) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		x, err := s.session(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		if x == nil {
			return
		}
		due, rows := packed.NewDue(x.head, x.kinds, from, kinds), firstRows
		for due.From <= x.head {
			page, size, err := s.page(ctx, x, due.From, rows, kinds)
			for _, r := range page {
				if r.Seq > x.head {
					break
				}
				if what := due.Check(&r.Entry, r.prev); what != "" {
					yield(nil, s.lost(ctx, x, what))
					return
				}
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) < rows {
				break
			}
			if size > pageBytes {
				rows = max(rows/4, 1)
			} else if size < pageBytes/4 {
				rows = min(rows*4, mostRows)
			}
		}
		if what := due.Missing(); what != "" {
			yield(nil, s.lost(ctx, x, what))
		}
	}
}

// lost says what it means that entries are not there: damage, or that the session was
// forgotten while it was read.
func (s *Store) lost(ctx context.Context, x *session, what string) error {
	now, err := s.session(ctx, x.key)
	if err != nil {
		return err
	}
	if now == nil || now.id != x.id {
		return fmt.Errorf("session was forgotten: %w", pleat.ErrNotFound)
	}
	return s.corrupt("session %q: %s", x.key, what)
}

// page reads some entries from a number on, and says how large they are. Along with
// damage come the entries before it.
func (s *Store) page(ctx context.Context, x *session, from uint64, most int, kinds []pleat.EntryKind) (page []*record, size int, err error) {
	text, args := selectEntries+" ORDER BY e.seq LIMIT $3", []any{x.id, int64(min(from, 1<<62)), most}
	if len(kinds) > 0 {
		list := make([][]byte, len(kinds))
		for i, kind := range kinds {
			list[i] = column(kind)
		}
		text, args = selectEntries+" AND e.kind = ANY($4) ORDER BY e.seq LIMIT $3", append(args, list)
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		page, size = nil, 0
		rows, err := conn.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := readEntry(rows, x.key)
			if damaged, ok := errors.AsType[errDamaged](err); ok {
				return s.corrupt("session %q: %s", x.key, damaged.what)
			}
			if err != nil {
				return err
			}
			page = append(page, r)
			size += len(r.Data)
		}
		return rows.Err()
	})
	return page, size, err
}

// Body implements [pleat.Store].
func (s *Store) Body(ctx context.Context, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	var body []byte
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		body, err = s.body(ctx, conn, key, hash)
		return err
	})
	return body, s.fail(ctx, err, "read body %v of session %q", hash, key)
}

func (s *Store) body(ctx context.Context, conn *pgxpool.Conn, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	var size, form *int64
	var data []byte
	r, err := readEntry(conn.QueryRow(ctx, selectBody, sessionArgs(key, hash[:])...), key, &size, &form, &data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, pleat.ErrNotFound
	}
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return nil, s.corrupt("session %q: %s", key, damaged.what)
	}
	if err != nil {
		return nil, err
	}
	if r.BodyHash != hash {
		return nil, s.corrupt("session %q: an index leads to the wrong body", key)
	}
	if size == nil || form == nil {
		return nil, s.corrupt("session %q: body %v is missing", key, hash)
	}
	body, err := packed.Blob{Size: int(*size), Codec: int(*form), Data: data}.Unpack(r.BodySize, hash)
	if err != nil {
		return nil, s.corrupt("session %q: body %v %v", key, hash, err)
	}
	return body, nil
}
