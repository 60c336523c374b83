package stores

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Import brings the sessions in an export file into a store, a single one under another name if
// there is one. All of them are first taken into a store that is thrown away: what cannot be opened and
// unfolded must not get into the user's, which is opened, and made, only then.
func Import(ctx context.Context, p *term.Console, f *Flags, in io.Reader, name, as string) (*Imports, error) {
	key := make([]byte, 32) // the user's may be encrypted: nothing must be left in clear text
	_, _ = rand.Read(key)
	trial, drop, err := Temporary(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("check the file: %w", err)
	}
	defer drop()
	i := importing{Console: p, flags: f, name: name, as: as, trial: trial}
	if err := i.takeAll(ctx, in); err != nil {
		return nil, err
	}
	st, err := Open(ctx, p, f)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return i.bringAll(ctx, st)
}

// Imports is what was imported from a file.
type Imports struct {
	Format   string     `json:"format"`
	Sessions []Imported `json:"sessions"`
	Problems []Problem  `json:"problems"`

	many bool
}

// Result is what is printed: of a file with one session, what became of that.
func (d *Imports) Result() term.Result {
	if d.many {
		return d
	}
	return d.Sessions[0]
}

// Print implements [term.Result].
func (d *Imports) Print(p *term.Page) {
	fresh, added, folds := 0, uint64(0), 0
	for _, s := range d.Sessions {
		added += s.Added
		folds += s.Folds
		if s.Added > 0 {
			fresh++
		}
	}
	p.Line("%s: %d imported, %d there already; %s added, %s checked.", term.Plural(len(d.Sessions), "session"),
		fresh, len(d.Sessions)-fresh, EntryCount(added), term.Plural(folds, "fold"))
}

// Problem is a session that was not exported or imported.
type Problem struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
	What    string `json:"what"`
}

// LeftOut tells which sessions were left out, and returns an error if there are any.
func LeftOut(p *term.Console, list []Problem, done string) error {
	for _, x := range list {
		p.Note("not %s: session %s: %s\n", done, store.SessionKey{Tenant: x.Tenant, Session: x.Session}, x.What)
	}
	if n := len(list); n > 0 {
		return fmt.Errorf("%s not %s (the others are complete)", term.Verb(n, "session", "was", "were"), done)
	}
	return nil
}

type importing struct {
	*term.Console
	flags    *Flags
	name, as string
	many     bool // the file has several sessions
	trial    Store
	taken    []Imported // what the trial store has
	problems []Problem
}

// takeAll takes the sessions of a file into the trial store. One of several may be refused alone.
func (i *importing) takeAll(ctx context.Context, in io.Reader) error {
	r, err := newExportReader(i.name, in)
	if err != nil {
		return err
	}
	i.many = r.header.More > 0
	if i.many && i.as != "" {
		return term.UsageError("--as is for a file with one session, this one has several")
	}
	for {
		h := r.header
		key := i.flags.Key(i.as)
		if i.as == "" {
			key.Session, key.Tenant = string(h.Session), cmp.Or(i.flags.Tenant, string(h.Tenant))
		}
		one := Imported{Format: "pleat/import/1", Tenant: key.Tenant, Session: key.Session, Entries: h.Entries}
		one.Folds, err = i.take(ctx, r, key)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w (nothing was stored)", err)
		}
		if err != nil && (!i.many || ctx.Err() != nil || errors.Is(err, store.ErrFull)) {
			return err
		}
		for r.err == nil {
			_, _ = r.next()
		}
		switch {
		case !errors.Is(r.err, io.EOF):
			return r.err
		case err != nil:
			i.problems = append(i.problems, Problem{key.Tenant, key.Session, err.Error()})
		default:
			i.taken = append(i.taken, one)
		}
		if h.More == 0 {
			return nil
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
}

// take takes the session that the file is at, and returns how many folds it has, all of which came back.
func (i *importing) take(ctx context.Context, r *exportReader, key store.SessionKey) (folds int, err error) {
	w := entryWriter{store: i.trial, key: key}
	tell := i.Progress()
	defer tell.Done()
	for {
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
		if err := w.add(ctx, e); err != nil {
			return 0, fmt.Errorf("read %s: line %d: %w", i.name, r.number, err)
		}
		tell.Say("checking %d of %s", e.Seq, EntryCount(r.header.Entries))
	}
	if err := w.flush(ctx); err != nil {
		return 0, fmt.Errorf("read %s: %w", i.name, err)
	}
	folds, problems, err := checkSession(ctx, i.trial, key, tell)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read %s: the session does not open: %w", i.name, err)
	case len(problems) > 0:
		return 0, fmt.Errorf("read %s: %s cannot be unfolded, the first: %s", i.name,
			term.Plural(len(problems), "fold"), problems[0])
	}
	return folds, nil
}

// bringAll brings what was taken into a store. What that has of a session with other content is left as it is.
func (i *importing) bringAll(ctx context.Context, st Store) (*Imports, error) {
	all := &Imports{Format: "pleat/imports/1", Sessions: []Imported{}, Problems: append([]Problem{}, i.problems...), many: i.many}
	for _, one := range i.taken {
		done, err := i.bring(ctx, st, one)
		here := errors.Is(err, errOtherContent) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt)
		switch {
		case err == nil:
			all.Sessions = append(all.Sessions, done)
		case i.many && here && ctx.Err() == nil:
			all.Problems = append(all.Problems, Problem{done.Tenant, done.Session, err.Error()})
		default:
			return nil, fmt.Errorf("import session %s: %w", done.key(), err)
		}
	}
	return all, nil
}

var errOtherContent = errors.New("the store has a session of that name with other content")

// bring compares the entries that the store has with those of a session, and adds the others.
func (i *importing) bring(ctx context.Context, st Store, done Imported) (Imported, error) {
	key := done.key()
	var there []store.Entry
	for e, err := range st.Scan(ctx, key, 1) {
		if err != nil {
			return done, err
		}
		there = append(there, e)
	}
	w := entryWriter{store: st, key: key, last: uint64(len(there))}
	tell := i.Progress()
	defer tell.Done()
	for e, err := range i.trial.Scan(ctx, key, 1) {
		tell.Say("importing %d of %s", e.Seq, EntryCount(done.Entries))
		if err == nil && e.BodySize > 0 {
			e.Body, err = i.trial.Body(ctx, key, e.BodyHash)
		}
		switch {
		case err != nil:
		case e.Seq > w.last:
			err = w.add(ctx, e)
		case !equalEntries(there[e.Seq-1], e):
			err = fmt.Errorf("%w, different from entry %d (%s) on; it was left as it is "+
				"(--as NAME imports under another name)", errOtherContent, e.Seq, e.Kind)
		default:
			var mended int
			mended, err = mend(ctx, st, key, e)
			done.Mended += mended
		}
		if err != nil {
			return done, w.explain(err)
		}
	}
	if err := w.flush(ctx); err != nil {
		return done, w.explain(err)
	}
	done.Added, done.Stored = w.added, w.last+w.added
	return done, nil
}

// mend replaces the stored body of an entry if it is damaged, and returns how many it
// replaced. A store replaces a damaged body when a new entry brings it again, so a
// temporary session does.
func mend(ctx context.Context, st Store, key store.SessionKey, e store.Entry) (int, error) {
	if len(e.Body) == 0 {
		return 0, nil
	}
	if _, err := st.Body(ctx, key, e.BodyHash); !errors.Is(err, store.ErrCorrupt) {
		return 0, err
	}
	key.Session = "mending " + key.Session
	// Left by an interrupted import.
	if err := st.Forget(ctx, key); err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	if _, err := st.Append(ctx, key, 0, store.Entry{Kind: e.Kind, Time: e.Time, Body: e.Body}); err != nil {
		return 0, fmt.Errorf("repair entry %d: %w", e.Seq, err)
	}
	return 1, st.Forget(ctx, key)
}
