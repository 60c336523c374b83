package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// A scan reads a page, lets go of the file, and only then yields: the loop's body may
// take as long as it likes and use the store as it likes.
const (
	pageRows  = 256
	pageBytes = 1 << 20
)

// readSessionOf reads a session row and makes sure that it is the one that was asked
// for. Without a row it returns nil.
func (s *Store) readSessionOf(key pleat.SessionKey, row scanner) (*session, error) {
	x, err := readSession(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return nil, s.corrupt("session %q: %s", key, damaged.what)
	}
	if err == nil && x.key != key {
		return nil, s.corrupt("session %q: its index leads to session %q", key, x.key)
	}
	return x, err
}

// session finds a session; nil if there is none. That there is none is confirmed by
// the second index, at one moment.
func (s *Store) session(ctx context.Context, key pleat.SessionKey) (*session, error) {
	x, err := s.readSessionOf(key, s.query.sessionByName.QueryRowContext(ctx, column(key.Tenant), column(key.Session)))
	if x != nil || err != nil {
		return x, err
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	x, err = s.readSessionOf(key, tx.QueryRowContext(ctx, selectSessionByName, column(key.Tenant), column(key.Session)))
	if x != nil || err != nil {
		return x, err
	}
	x, err = s.readSessionOf(key, tx.QueryRowContext(ctx, selectSessionByHash, sessionHash(key)))
	if x != nil && err == nil {
		err = s.corrupt("session %q is missing in an index", key)
	}
	return nil, err
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
		x, err := s.enterSession(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		if x == nil {
			return
		}
		due := packed.NewDue(x.head, x.kinds, from, kinds)
		for due.From <= x.head {
			page, err := s.page(ctx, x, due.From, kinds)
			for _, r := range page {
				if r.Seq > x.head {
					break
				}
				if what := due.Check(&r.Entry, r.prev); what != "" {
					yield(nil, s.corrupt("session %q: %s", key, what))
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
			if len(page) == 0 {
				break
			}
		}
		if what := due.Missing(); what != "" {
			yield(nil, s.lost(ctx, x, what))
		}
	}
}

func (s *Store) enterSession(ctx context.Context, key pleat.SessionKey) (*session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.work.Done()
	return s.session(ctx, key)
}

// lost says what it means that entries are not there: damage, or that the session was
// forgotten while it was read.
func (s *Store) lost(ctx context.Context, x *session, what string) error {
	now, err := s.enterSession(ctx, x.key)
	if err != nil {
		return err
	}
	if now == nil || now.id != x.id {
		return fmt.Errorf("session was forgotten: %w", pleat.ErrNotFound)
	}
	return s.corrupt("session %q: %s", x.key, what)
}

// page reads some entries from a number on. Along with an error come the entries
// before it.
func (s *Store) page(ctx context.Context, x *session, from uint64, kinds []pleat.EntryKind) ([]*record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.work.Done()
	var rows *sql.Rows
	var err error
	if len(kinds) == 0 {
		rows, err = s.query.entries.QueryContext(ctx, x.id, from, pageRows)
	} else {
		args := []any{x.id, from}
		for _, kind := range kinds {
			args = append(args, column(kind))
		}
		text := selectEntries + " AND e.kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ") ORDER BY e.seq LIMIT ?"
		rows, err = s.read.QueryContext(ctx, text, append(args, pageRows)...)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []*record
	for size := 0; size < pageBytes && rows.Next(); {
		r, err := readEntry(rows, x.key)
		if damaged, ok := errors.AsType[errDamaged](err); ok {
			return page, s.corrupt("session %q: %s", x.key, damaged.what)
		}
		if err != nil {
			return page, err
		}
		page = append(page, r)
		size += len(r.Data)
	}
	return page, rows.Err()
}

// Body implements [pleat.Store].
func (s *Store) Body(ctx context.Context, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	body, err := s.body(ctx, key, hash)
	return body, s.fail(ctx, err, "read body %v of session %q", hash, key)
}

func (s *Store) body(ctx context.Context, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	x, err := s.enterSession(ctx, key)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return nil, pleat.ErrNotFound
	}
	body, err := s.bodyByIndex(ctx, x, hash)
	if !errors.Is(err, pleat.ErrNotFound) {
		return body, err
	}
	// The index says no. Before that is believed, the session itself is asked.
	for r, err := range s.scan(ctx, key, 1, nil) {
		if err != nil {
			return nil, err
		}
		if r.BodyHash == hash && !hash.IsZero() && r.id <= x.newest {
			return nil, s.corrupt("session %q: the body of entry %d is missing in an index", key, r.Seq)
		}
	}
	return nil, pleat.ErrNotFound
}

func (s *Store) bodyByIndex(ctx context.Context, x *session, hash pleat.Hash) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.work.Done()
	rows, err := s.query.body.QueryContext(ctx, column(x.key.Tenant), hash[:], x.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, err
		}
		return nil, pleat.ErrNotFound
	}
	var size, form sql.NullInt64
	var data sql.RawBytes
	r, err := readEntry(rows, x.key, &size, &form, &data)
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return nil, s.corrupt("session %q: %s", x.key, damaged.what)
	}
	if err != nil {
		return nil, err
	}
	if r.BodyHash != hash {
		return nil, s.corrupt("session %q: an index leads to the wrong body", x.key)
	}
	if !size.Valid {
		return nil, s.corrupt("body %v is missing", hash)
	}
	body, err := packed.Blob{Size: int(size.Int64), Codec: int(form.Int64), Data: data}.Unpack(r.BodySize, hash)
	if err != nil {
		return nil, s.corrupt("body %v %v", hash, err)
	}
	return body, rows.Err()
}
