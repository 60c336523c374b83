package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// Verify implements [pleat.Keeper]. It reads the whole file: SQLite's own check of all
// pages and indexes, then every session, entry, body and text against their checksums.
func (s *Store) Verify(ctx context.Context) iter.Seq2[pleat.Damage, error] {
	return func(yield func(pleat.Damage, error) bool) {
		v := verifier{Store: s, ctx: ctx, yield: yield}
		if err := s.enter(ctx); err != nil {
			yield(pleat.Damage{}, fmt.Errorf("verify %s: %w", s.path, err))
			return
		}
		defer s.work.Done()
		for _, step := range []func() error{v.pages, v.sessions, v.blobs, v.orphans} {
			err := step()
			if code(err) != 0 && errors.Is(s.explain(err), pleat.ErrCorrupt) {
				_ = v.report(pleat.SessionKey{}, 0, "%v", s.explain(err))
				err = nil // the other steps may still find more
			}
			if err != nil && !v.stopped {
				yield(pleat.Damage{}, s.fail(ctx, err, "verify %s", s.path))
				return
			}
			if v.stopped {
				return
			}
		}
	}
}

type verifier struct {
	*Store
	ctx     context.Context
	yield   func(pleat.Damage, error) bool
	stopped bool
}

// errStopped ends a step when nobody wants to hear more.
var errStopped = errors.New("stopped")

func (v *verifier) report(key pleat.SessionKey, seq uint64, format string, args ...any) error {
	damage := pleat.Damage{Key: key, Seq: seq, What: fmt.Sprintf(format, args...)}
	if v.stopped || !v.yield(damage, nil) {
		v.stopped = true
		return errStopped
	}
	return nil
}

// each runs f for every row.
func (v *verifier) each(db *sql.DB, f func(rows *sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(v.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// pages lets SQLite check its pages and indexes, the search index among them. It uses a
// connection of its own: on one that has searched before, FTS5 checks against what it
// remembers of the index, and takes what others have written since for damage.
func (v *verifier) pages() error {
	db, err := sql.Open("sqlite", dataSource(v.path, append([]string{v.timeoutPragma()}, readerPragmas...)...))
	if err != nil {
		return err
	}
	defer db.Close()
	return v.each(db, func(rows *sql.Rows) error {
		var what string
		if err := rows.Scan(&what); err != nil || what == "ok" {
			return err
		}
		return v.report(pleat.SessionKey{}, 0, "%s: %s", v.path, what)
	}, "PRAGMA integrity_check(100)")
}

// sessions checks every session and its entries.
func (v *verifier) sessions() error {
	var all []*session
	err := v.each(v.read, func(rows *sql.Rows) error {
		x, err := readSession(rows)
		if damaged, ok := errors.AsType[errDamaged](err); ok {
			key := pleat.SessionKey{}
			if x != nil {
				key = x.key
				all = append(all, x)
			}
			return v.report(key, 0, "%s", damaged.what)
		}
		if err == nil {
			all = append(all, x)
		}
		return err
	}, "SELECT "+sessionColumns+" FROM session s NOT INDEXED")
	for _, x := range all {
		if err == nil {
			err = v.entries(x)
		}
	}
	return err
}

// entries checks the entries of a session: their checksums, that none is missing, and
// that their bodies and texts are there.
func (v *verifier) entries(x *session) error {
	due := packed.NewDue(x.head, x.kinds, 1, nil)
	err := v.each(v.read, func(rows *sql.Rows) error {
		var bodySize, textSize sql.NullInt64
		r, err := readEntry(rows, x.key, &bodySize, &textSize)
		if damaged, ok := errors.AsType[errDamaged](err); ok {
			seq := uint64(0)
			if r != nil {
				seq = r.Seq
				due.From = r.Seq + 1
			}
			return v.report(x.key, seq, "%s", damaged.what)
		}
		if err != nil || r.Seq > x.head { // appended since
			return err
		}
		if what := due.Check(&r.Entry, r.prev); what != "" {
			due.From = r.Seq + 1
			if err := v.report(x.key, 0, "%s", what); err != nil {
				return err
			}
		}
		if r.BodySize > 0 && (!bodySize.Valid || bodySize.Int64 != int64(r.BodySize)) {
			if err := v.report(x.key, r.Seq, "body %v is missing", r.BodyHash); err != nil {
				return err
			}
		}
		if r.textHash.IsZero() {
			return nil
		}
		return v.text(x.key, r)
	}, "SELECT "+entryColumns+`, b.size, t.size FROM entry e INDEXED BY entry_seq
		LEFT JOIN blob b ON b.hash = e.body AND b.tenant = ? LEFT JOIN text t ON t.entry = e.id
		WHERE e.session = ? ORDER BY e.seq`, column(x.key.Tenant), x.id)
	if err != nil {
		return err
	}
	if what := due.Missing(); what != "" {
		if now, err := v.session(v.ctx, x.key); err == nil && (now == nil || now.id != x.id) {
			return nil // forgotten meanwhile
		}
		return v.report(x.key, 0, "%s", what)
	}
	return nil
}

// text checks the text of an entry. One that is the body is checked with the bodies.
func (v *verifier) text(key pleat.SessionKey, r *record) error {
	if r.textHash == r.BodyHash {
		return nil
	}
	_, _, err := v.entryText(v.ctx, r.id)
	if errors.Is(err, pleat.ErrCorrupt) {
		return v.report(key, r.Seq, "%v", err)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil // forgotten meanwhile
	}
	return err
}

// blobs checks every body against its hash.
func (v *verifier) blobs() error {
	return v.each(v.read, func(rows *sql.Rows) error {
		var tenant, hash, data []byte
		var p packed.Blob
		if err := rows.Scan(&tenant, &hash, &p.Size, &p.Codec, &data); err != nil {
			if _, ok := errors.AsType[errDamaged](asDamage(err)); ok {
				return v.report(pleat.SessionKey{}, 0, "a body: %v", err)
			}
			return err
		}
		p.Data = data
		var h pleat.Hash
		if !setHash(&h, hash) || p.Size < 0 || p.Size > maxTextSize {
			return v.report(pleat.SessionKey{Tenant: string(tenant)}, 0, "body %x has a damaged record", hash)
		}
		if _, err := p.Unpack(p.Size, h); err != nil {
			return v.report(pleat.SessionKey{Tenant: string(tenant)}, 0, "body %v %v", h, err)
		}
		return nil
	}, "SELECT tenant, hash, size, codec, data FROM blob NOT INDEXED")
}

// orphans are entries whose session is gone.
func (v *verifier) orphans() error {
	return v.each(v.read, func(rows *sql.Rows) error {
		var session, entries int64
		if err := rows.Scan(&session, &entries); err != nil {
			return err
		}
		return v.report(pleat.SessionKey{}, 0, "%s: %d entries belong to session number %d, which is not there", v.path, entries, session)
	}, "SELECT e.session, count(*) FROM entry e WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = e.session) GROUP BY e.session")
}
