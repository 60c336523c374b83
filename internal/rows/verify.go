package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Pages are queries over a whole store. Verify reads page by page, so that the store can be in
// use meanwhile: the last argument of each query, but for Tenants, is the number of rows.
type Pages struct {
	Sessions string // SessionColumns of the sessions with an ID above $1, in order
	// Entries selects an ID, EntryColumns and the size of the body for the entries of session
	// $1 with a number above $3, in order. $2 is the owner of the bodies.
	Entries string
	// Bodies selects two columns that the bodies are ordered by, then tenant, hash, size, codec
	// and data, of the bodies after $1 and $2. FirstBody comes before all of them.
	Bodies    string
	FirstBody [2]any
	Tenants   string // their names, in order
	// Newest selects -1 and the beginning of the data of the newest entry that has some, and perhaps a
	// codec and the beginning of the newest body, or of what has the ID of its key.
	Newest  string
	Orphans string // IDs above $1 that entries have and no session, in order, and how many entries
}

// pageRows is the number of rows in a page: few, since rows can be large.
const pageRows = 64

// eachRow runs f for every row of a query, after the database is released. Read must not fail
// for a row that is damaged: the others may still be read. After returns the arguments that
// select the rows after one.
func eachRow[T any](
	v *Verifier, query string, last T, after func(last T) []any, read func(row Scanner) (T, error), f func(T) error,
) error {
	for {
		args := after(last)
		page, err := readAll(v.ctx, v.b, query, read, append(args, pageRows)...)
		for _, last = range page { // also before an error
			if err := f(last); err != nil {
				return err
			}
		}
		if err != nil || len(page) < pageRows || reflect.DeepEqual(after(last), args) {
			return err
		}
	}
}

// examined is a row with the error of its check.
type examined[T any] struct {
	row *T
	err error
}

// examine returns a row that can be read, perhaps damaged.
func examine[T any](row *T, err error) (examined[T], error) {
	if row != nil {
		return examined[T]{row, err}, nil
	}
	return examined[T]{}, err
}

// Verifier reads everything and reports what is damaged.
type Verifier struct {
	b       *Base
	ctx     context.Context
	yield   func(store.Damage, error) bool
	stopped bool
}

// Verify is the Verify of the stores; see [store.Keeper]. The store's own steps come first.
// An error that ends only one step is reported as damage: the others may still find more.
func (b *Base) Verify(
	ctx context.Context, onlyStep func(err error) bool, own ...func(v *Verifier) error,
) iter.Seq2[store.Damage, error] {
	return func(yield func(store.Damage, error) bool) {
		v := &Verifier{b: b, ctx: ctx, yield: yield}
		if err := b.tables.Read(ctx, b.Fits, b.Pages.Newest); errors.Is(err, ErrKey) {
			yield(store.Damage{}, b.Fail(ctx, err, "verify %s", b.Name))
			return
		}
		for _, step := range append(own, (*Verifier).sessions, (*Verifier).bodies, (*Verifier).orphans) {
			err := step(v)
			if err != nil && !v.stopped && onlyStep(err) {
				err = v.Report(store.SessionKey{}, 0, "%v", b.Explain(err))
			}
			if v.stopped {
				return
			}
			if err != nil {
				yield(store.Damage{}, b.Fail(ctx, err, "verify %s", b.Name))
				return
			}
		}
	}
}

// errStopped ends a step when the caller wants no more.
var errStopped = errors.New("stopped")

// Report reports damage. Its error ends the step.
func (v *Verifier) Report(key store.SessionKey, seq uint64, format string, args ...any) error {
	damage := store.Damage{Key: key, Seq: seq, What: fmt.Sprintf(format, args...)}
	if v.stopped || !v.yield(damage, nil) {
		v.stopped = true
		return errStopped
	}
	return nil
}

func (v *Verifier) sessions() error {
	read := func(row Scanner) (examined[Session], error) { return examine(v.b.ReadSession(row)) }
	after := func(last examined[Session]) []any { return []any{last.row.ID} }
	first := examined[Session]{row: &Session{ID: math.MinInt64}}
	return eachRow(v, v.b.Pages.Sessions, first, after, read, func(c examined[Session]) error {
		if c.err != nil {
			if err := v.Report(c.row.Key, 0, "%s", c.err); err != nil {
				return err
			}
		}
		return v.entries(c.row)
	})
}

// errNewer ends the entries of a session at those that were appended since it was read.
var errNewer = errors.New("newer")

// entries checks the entries of a session: their checksums, that none is missing, and
// that their bodies and texts are there.
func (v *Verifier) entries(x *Session) error {
	due := newDue(x.Head, x.Kinds, 1, nil)
	type entry struct {
		examined[Record]
		body *int64
	}
	read := func(row Scanner) (e entry, err error) {
		e.examined, err = examine(v.b.ReadEntry(row, x.Key, &e.body))
		return e, err
	}
	after := func(last entry) []any { return []any{x.ID, v.b.tables.Owner(x.Key.Tenant), int64(last.row.Seq)} }
	first := entry{examined: examined[Record]{row: &Record{}}}
	err := eachRow(v, v.b.Pages.Entries, first, after, read, func(e entry) error {
		r := e.row
		if what, ok := errors.AsType[damaged](e.err); ok && errors.Is(what.error, ErrKey) {
			return v.b.In(what, "session %q", x.Key)
		}
		if e.err != nil {
			due.From = r.Seq + 1
			return v.Report(x.Key, r.Seq, "%s", e.err)
		}
		if r.Seq > x.Head {
			return errNewer
		}
		if what := due.Check(&r.Entry, r.Prev); what != "" {
			due.From = r.Seq + 1
			if err := v.missing(x, 0, what); err != nil {
				return err
			}
		}
		if r.BodySize > 0 && (e.body == nil || *e.body != int64(r.BodySize)) {
			if err := v.missing(x, r.Seq, fmt.Sprintf("body %v is missing", r.BodyHash)); err != nil {
				return err
			}
		}
		if !r.OwnText() { // one that is the body is checked with the bodies
			return nil
		}
		return v.text(x, r)
	})
	if err != nil && !errors.Is(err, errNewer) {
		return err
	}
	if what := due.Missing(); what != "" {
		return v.missing(x, 0, what)
	}
	return nil
}

func (v *Verifier) text(x *Session, r *Record) error {
	err := v.b.tables.CheckText(v.ctx, x, r)
	if errors.Is(err, store.ErrCorrupt) {
		return v.missing(x, r.Seq, err.Error())
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil // forgotten meanwhile
	}
	return err
}

// missing reports that something of a session is missing or damaged, unless the session
// was forgotten meanwhile.
func (v *Verifier) missing(x *Session, seq uint64, what string) error {
	now, err := v.b.tables.Session(v.ctx, x.Key)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if err == nil && x.Still(now) != nil {
		return nil
	}
	return v.Report(x.Key, seq, "%s", what)
}

func (v *Verifier) bodies() error {
	type body struct {
		at           [2]any
		tenant, hash []byte
		Blob
		err error
	}
	read := func(row Scanner) (b body, err error) {
		err = row.Scan(&b.at[0], &b.at[1], &b.tenant, &b.hash, &b.Size, &b.Codec, &b.Data)
		if err != nil && v.b.tables.Misfit(err) {
			b.err, err = err, nil
		}
		return b, err
	}
	after := func(last body) []any { return []any{last.at[0], last.at[1]} }
	return eachRow(v, v.b.Pages.Bodies, body{at: v.b.Pages.FirstBody}, after, read, func(b body) error {
		key := store.SessionKey{Tenant: string(b.tenant)}
		var h transcript.Hash
		switch {
		case b.err != nil:
			return v.Report(key, 0, "a body: %v", b.err)
		case !SetHash(&h, b.hash) || b.Size < 0 || b.Size > maxSize:
			return v.Report(key, 0, "body %x has a damaged record", b.hash)
		}
		_, err := v.b.Keys.Unpack(b.Blob, b.Size, h)
		if errors.Is(err, ErrKey) {
			return v.b.Corrupt("body %v %w", h, err)
		}
		if err != nil {
			return v.Report(key, 0, "body %v %v", h, err)
		}
		return nil
	})
}

// orphans reports entries whose session is gone.
func (v *Verifier) orphans() error {
	type orphans struct{ session, entries int64 }
	read := func(row Scanner) (o orphans, err error) {
		err = row.Scan(&o.session, &o.entries)
		return o, err
	}
	after := func(last orphans) []any { return []any{last.session} }
	return eachRow(v, v.b.Pages.Orphans, orphans{session: math.MinInt64}, after, read, func(o orphans) error {
		return v.Report(store.SessionKey{}, 0, "%s: %d entries belong to session number %d, which is not there",
			v.b.Name, o.entries, o.session)
	})
}
