package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Verifier reads everything and reports what is damaged.
type Verifier struct {
	b       *Base
	ctx     context.Context
	yield   func(store.Damage, error) bool
	stopped bool
}

// Verify is the Verify of the stores; see [store.Keeper]. The store's own steps come first.
// An error that ends only one step is reported as damage: the others may still find more.
func (b *Base) Verify(ctx context.Context, onlyStep func(err error) bool, own ...func(v *Verifier) error) iter.Seq2[store.Damage, error] {
	return func(yield func(store.Damage, error) bool) {
		v := &Verifier{b: b, ctx: ctx, yield: yield}
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

// sessions checks every session and its entries.
func (v *Verifier) sessions() error {
	return v.b.tables.EachSession(v.ctx, func(x *Session, err error) error {
		if what, ok := errors.AsType[damaged](err); ok {
			var key store.SessionKey
			if x != nil {
				key = x.Key
			}
			err = v.Report(key, 0, "%s", what)
		}
		if err != nil || x == nil {
			return err
		}
		return v.entries(x)
	})
}

// errNewer ends the entries of a session at those that were appended since it was read.
var errNewer = errors.New("newer")

// entries checks the entries of a session: their checksums, that none is missing, and
// that their bodies and texts are there.
func (v *Verifier) entries(x *Session) error {
	due := NewDue(x.Head, x.Kinds, 1, nil)
	err := v.b.tables.EachEntry(v.ctx, x, func(r *Record, body *int64, err error) error {
		if what, ok := errors.AsType[damaged](err); ok {
			seq := uint64(0)
			if r != nil {
				seq, due.From = r.Seq, r.Seq+1
			}
			return v.Report(x.Key, seq, "%s", what)
		}
		if err != nil {
			return err
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
		err = v.b.tables.CheckText(v.ctx, x, r)
		if errors.Is(err, store.ErrCorrupt) {
			return v.missing(x, r.Seq, err.Error())
		}
		if errors.Is(err, sql.ErrNoRows) {
			return nil // forgotten meanwhile
		}
		return err
	})
	if err != nil && !errors.Is(err, errNewer) {
		return err
	}
	if what := due.Missing(); what != "" {
		return v.missing(x, 0, what)
	}
	return nil
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

// bodies checks every body against its hash.
func (v *Verifier) bodies() error {
	return v.b.tables.EachBody(v.ctx, func(tenant string, hash []byte, body Blob, err error) error {
		key := store.SessionKey{Tenant: tenant}
		if err != nil && v.b.tables.Misfit(err) {
			return v.Report(key, 0, "a body: %v", err)
		}
		if err != nil {
			return err
		}
		var h transcript.Hash
		if !SetHash(&h, hash) || body.Size < 0 || body.Size > maxSize {
			return v.Report(key, 0, "body %x has a damaged record", hash)
		}
		if _, err := v.b.Keys.Unpack(body, body.Size, h); err != nil {
			return v.Report(key, 0, "body %v %v", h, err)
		}
		return nil
	})
}

// orphans reports entries whose session is gone.
func (v *Verifier) orphans() error {
	return v.b.tables.EachOrphan(v.ctx, func(session, entries int64) error {
		return v.Report(store.SessionKey{}, 0, "%s: %d entries belong to session number %d, which is not there", v.b.Name, entries, session)
	})
}
