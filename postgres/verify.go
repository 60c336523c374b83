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

// verifyRows is how much Verify reads at once: little, since rows can be large.
const verifyRows = 64

// Verify implements [pleat.Keeper]. It reads every session, entry, text and body and
// compares them with their checksums, in small steps: the store can be in use.
func (s *Store) Verify(ctx context.Context) iter.Seq2[pleat.Damage, error] {
	return func(yield func(pleat.Damage, error) bool) {
		v := verifier{Store: s, ctx: ctx, yield: yield}
		for _, step := range []func() error{v.sessions, v.blobs, v.orphans} {
			err := step()
			if v.stopped {
				return
			}
			if err != nil {
				yield(pleat.Damage{}, s.fail(ctx, err, "verify %s", s.name))
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

// collect reads a page; what it finds is told after the connection was given back.
func collect[T any](v *verifier, row func(pgx.Rows) (T, error), query string, args ...any) (page []T, err error) {
	err = v.read(v.ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		page = nil
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			one, err := row(rows)
			if err != nil {
				return err
			}
			page = append(page, one)
		}
		return rows.Err()
	})
	return page, err
}

// sessions checks every session and its entries.
func (v *verifier) sessions() error {
	type checked struct {
		*session
		what string
	}
	row := func(rows pgx.Rows) (checked, error) {
		x, err := readSession(rows)
		if damaged, ok := errors.AsType[errDamaged](err); ok && x != nil {
			return checked{x, damaged.what}, nil
		}
		return checked{x, ""}, err
	}
	for after := int64(-1 << 63); ; {
		page, err := collect(v, row, "SELECT "+sessionColumns+" FROM pleat.session s WHERE s.id > $1 ORDER BY s.id LIMIT $2", after, verifyRows)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, x := range page {
			after = x.id
			if x.what != "" {
				if err := v.report(x.key, 0, "%s", x.what); err != nil {
					return err
				}
			}
			if err := v.entries(x.session); err != nil {
				return err
			}
		}
	}
}

const selectChecked = "SELECT " + entryColumns + `, b.size FROM pleat.entry e
	LEFT JOIN pleat.blob b ON b.hash = e.body AND b.owner = $4 WHERE e.session = $1 AND e.seq >= $2 ORDER BY e.seq LIMIT $3`

// entries checks the entries of a session: their checksums, that none is missing, and
// that their bodies and texts are there.
func (v *verifier) entries(x *session) error {
	type checked struct {
		*record
		body *int64
		what string
	}
	row := func(rows pgx.Rows) (c checked, err error) {
		c.record, err = readEntry(rows, x.key, &c.body)
		if damaged, ok := errors.AsType[errDamaged](err); ok && c.record != nil {
			c.what, err = damaged.what, nil
		}
		return c, err
	}
	due := packed.NewDue(x.head, x.kinds, 1, nil)
	for due.From <= x.head {
		page, err := collect(v, row, selectChecked, x.id, due.From, verifyRows, ownerOf(x.key.Tenant))
		if err != nil {
			return err
		}
		for _, r := range page {
			if r.Seq > x.head { // appended since
				break
			}
			what := r.what
			if gap := due.Check(&r.Entry, r.prev); gap != "" && what == "" {
				what = gap
			}
			due.From = r.Seq + 1
			if r.BodySize > 0 && what == "" && (r.body == nil || *r.body != int64(r.BodySize)) {
				what = fmt.Sprintf("body %v is missing", r.BodyHash)
			}
			if what == "" {
				if what, err = v.text(x, r.record); err != nil {
					return err
				}
			}
			if what != "" {
				if gone, err := v.forgotten(x); gone || err != nil {
					return err
				}
				if err := v.report(x.key, r.Seq, "%s", what); err != nil {
					return err
				}
			}
		}
		if len(page) == 0 {
			break
		}
	}
	if what := due.Missing(); what != "" {
		if gone, err := v.forgotten(x); gone || err != nil {
			return err
		}
		return v.report(x.key, 0, "%s", what)
	}
	return nil
}

// forgotten reports whether the session was forgotten meanwhile: that is no damage.
func (v *verifier) forgotten(x *session) (bool, error) {
	now, err := v.session(v.ctx, x.key)
	if errors.Is(err, pleat.ErrCorrupt) {
		return false, nil
	}
	return err == nil && (now == nil || now.id != x.id), err
}

// text checks the text of an entry. One that is the body is checked with the bodies.
func (v *verifier) text(x *session, r *record) (what string, err error) {
	if r.textHash.IsZero() || r.textHash == r.BodyHash {
		return "", nil
	}
	err = v.read(v.ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := v.entryText(ctx, conn, x.id, r.Seq)
		return err
	})
	if errors.Is(err, pleat.ErrCorrupt) {
		return err.Error(), nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil // forgotten meanwhile
	}
	return "", err
}

// blobs checks every body against its hash.
func (v *verifier) blobs() error {
	type checked struct {
		hash  []byte
		owner int64
		what  string
	}
	row := func(rows pgx.Rows) (c checked, err error) {
		var p packed.Blob
		if err := rows.Scan(&c.hash, &c.owner, &p.Size, &p.Codec, &p.Data); err != nil {
			return c, err
		}
		var h pleat.Hash
		if !setHash(&h, c.hash) || p.Size < 0 || p.Size > maxSize {
			c.what = fmt.Sprintf("body %x has a damaged record", c.hash)
		} else if _, err := p.Unpack(p.Size, h); err != nil {
			c.what = fmt.Sprintf("body %v %v", h, err)
		}
		return c, nil
	}
	for last := (checked{hash: []byte{}}); ; {
		page, err := collect(v, row, "SELECT hash, owner, size, codec, data FROM pleat.blob WHERE (hash, owner) > ($1, $2) ORDER BY hash, owner LIMIT $3",
			last.hash, last.owner, verifyRows)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			if c.what != "" {
				if err := v.report(pleat.SessionKey{}, 0, "%s", c.what); err != nil {
					return err
				}
			}
		}
		last = page[len(page)-1]
	}
}

// orphans are entries whose session is gone.
func (v *verifier) orphans() error {
	var found []string
	err := v.read(v.ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `SELECT e.session, count(*) FROM pleat.entry e
				WHERE NOT EXISTS (SELECT 1 FROM pleat.session s WHERE s.id = e.session) GROUP BY e.session`)
			if err != nil {
				return err
			}
			found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
				var session, entries int64
				err := row.Scan(&session, &entries)
				return fmt.Sprintf("%s: %d entries belong to session number %d, which is not there", v.name, entries, session), err
			})
			return err
		})
	})
	for _, what := range found {
		if err == nil {
			err = v.report(pleat.SessionKey{}, 0, "%s", what)
		}
	}
	return err
}
