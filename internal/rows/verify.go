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
	// $1 with a number above $2, in order.
	Entries string
	// Bodies selects two columns that the bodies are ordered by, then tenant, hash, size, codec
	// and data, of the bodies after $1 and $2. FirstBody comes before all of them.
	Bodies    string
	FirstBody [2]any
	Tenants   string // their names, in order
	Sealer    string // the ID of the key that encrypts, if one does
	Orphans   string // IDs above $1 that entries have and no session, in order, and how many entries
}

// pageRows is the number of rows in a page: few, since rows can be large.
const pageRows = 64

// examined is a row that was read: the arguments that select the rows after it, and its check.
type examined struct {
	after []any
	check func() error
}

// eachRow checks every row of a query, once the database is released. Read must not fail for a row that
// is damaged: the others may still be read. First are the arguments that select all rows.
func (v *Verifier) eachRow(query string, read func(row Scanner) (examined, error), first ...any) error {
	for args := first; ; {
		page, err := readAll(v.ctx, v.b, query, read, append(args[:len(args):len(args)], pageRows)...)
		for _, row := range page { // also before an error
			if err := row.check(); err != nil {
				return err
			}
		}
		if err != nil || len(page) < pageRows || reflect.DeepEqual(page[len(page)-1].after, args) {
			return err
		}
		args = page[len(page)-1].after
	}
}

// Verifier reads everything and reports what is damaged.
type Verifier struct {
	b     *Base
	ctx   context.Context
	yield func(store.Damage, error) bool
}

// Verify is the Verify of the stores; see [store.Keeper]. The store's own steps come first.
// An error that ends only one step is reported as damage: the others may still find more.
func (b *Base) Verify(
	ctx context.Context, onlyStep func(err error) bool, own ...func(v *Verifier) error,
) iter.Seq2[store.Damage, error] {
	return func(yield func(store.Damage, error) bool) {
		v := &Verifier{b: b, ctx: ctx, yield: yield}
		sealer, _ := readAll(ctx, b, b.Pages.Sealer, Text) // what cannot be read shows below
		for _, id := range sealer {
			if err := b.Keys.Fit([]byte(id)); err != nil {
				yield(store.Damage{}, b.Fail(ctx, err, "verify %s", b.Name))
				return
			}
		}
		for _, step := range append(own, (*Verifier).sessions, (*Verifier).bodies, (*Verifier).orphans) {
			err := step(v)
			if err != nil && onlyStep(err) {
				err = v.Report(store.SessionKey{}, 0, "%v", b.Explain(err))
			}
			if errors.Is(err, errStopped) {
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
	if !v.yield(store.Damage{Key: key, Seq: seq, What: fmt.Sprintf(format, args...)}, nil) {
		return errStopped
	}
	return nil
}

func (v *Verifier) sessions() error {
	return v.eachRow(v.b.Pages.Sessions, func(row Scanner) (examined, error) {
		x, err := v.b.ReadSession(row)
		if x == nil {
			return examined{}, err
		}
		return examined{[]any{x.ID}, func() error {
			if err != nil {
				if err := v.Report(x.Key, 0, "%s", err); err != nil {
					return err
				}
			}
			return v.entries(x)
		}}, nil
	}, int64(math.MinInt64))
}

// errNewer ends the entries of a session at those that were appended since it was read.
var errNewer = errors.New("newer")

// entries checks the entries of a session: their checksums, that none is missing, and
// that their bodies and texts are there.
func (v *Verifier) entries(x *Session) error {
	due := newDue(x.Head, x.Kinds, 1, nil)
	err := v.eachRow(v.b.Pages.Entries, func(row Scanner) (examined, error) {
		var body *int64
		r, err := v.b.ReadEntry(row, x.Key, &body)
		if r == nil {
			return examined{}, err
		}
		return examined{[]any{x.ID, int64(r.Seq)}, func() error { return v.entry(x, due, r, body, err) }}, nil
	}, x.ID, int64(0))
	if err != nil && !errors.Is(err, errNewer) {
		return err
	}
	if what := due.Missing(); what != "" {
		return v.missing(x, 0, what)
	}
	return nil
}

// entry checks an entry of a session, which was read with an error or none, and has a body of that size.
func (v *Verifier) entry(x *Session, due *Due, r *Record, body *int64, err error) error {
	if what, ok := errors.AsType[damaged](err); ok && errors.Is(what.error, ErrKey) {
		return v.b.In(what, "session %q", x.Key)
	}
	if err != nil {
		due.From = r.Seq + 1
		return v.Report(x.Key, r.Seq, "%s", err)
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
	if r.BodySize > 0 && (body == nil || *body != int64(r.BodySize)) {
		if err := v.missing(x, r.Seq, fmt.Sprintf("body %v is missing", r.BodyHash)); err != nil {
			return err
		}
	}
	if !r.OwnText() { // one that is the body is checked with the bodies
		return nil
	}
	return v.text(x, r)
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
	return v.eachRow(v.b.Pages.Bodies, func(row Scanner) (examined, error) {
		at := make([]any, 2)
		var tenant, hash []byte
		var b Blob
		err := row.Scan(&at[0], &at[1], &tenant, &hash, &b.Size, &b.Codec, &b.Data)
		if err != nil && !v.b.tables.Misfit(err) {
			return examined{}, err
		}
		return examined{at, func() error { return v.body(store.SessionKey{Tenant: string(tenant)}, hash, b, err) }}, nil
	}, v.b.Pages.FirstBody[:]...)
}

// body checks a body, which was read with an error or none.
func (v *Verifier) body(key store.SessionKey, hash []byte, b Blob, err error) error {
	var h transcript.Hash
	switch {
	case err != nil:
		return v.Report(key, 0, "a body: %v", err)
	case !SetHash(&h, hash) || b.Size < 0 || b.Size > maxSize:
		return v.Report(key, 0, "body %x has a damaged record", hash)
	}
	_, err = v.b.Keys.Unpack(b, b.Size, h)
	if errors.Is(err, ErrKey) {
		return v.b.Corrupt("body %v %w", h, err)
	}
	if err != nil {
		return v.Report(key, 0, "body %v %v", h, err)
	}
	return nil
}

// orphans reports entries whose session is gone.
func (v *Verifier) orphans() error {
	return v.eachRow(v.b.Pages.Orphans, func(row Scanner) (examined, error) {
		var session, entries int64
		err := row.Scan(&session, &entries)
		return examined{[]any{session}, func() error {
			return v.Report(store.SessionKey{}, 0, "%s: %d entries belong to session number %d, which is not there",
				v.b.Name, entries, session)
		}}, err
	}, int64(math.MinInt64))
}
