package stores

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Imported is what "pleat store import --json" prints.
type Imported struct {
	Format  string `json:"format"`
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
	Entries uint64 `json:"entries"` // in the file
	Added   uint64 `json:"added"`   // to the store
	Stored  uint64 `json:"stored"`  // in the store now
	Mended  int    `json:"mended"`  // bodies that were damaged in the store
	Folds   int    `json:"folds"`   // unfolded as a check
}

// try imports the session into a store of its own, which is thrown away: what cannot be
// opened and unfolded must not get into the store.
func (i *importing) try(ctx context.Context) error {
	key := make([]byte, 32) // the target may be encrypted: nothing must be left in clear text
	_, _ = rand.Read(key)
	st, drop, err := Temporary(ctx, key)
	if err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	defer drop()
	trial := *i
	trial.store = st
	if _, err = trial.run(ctx, "checking"); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (nothing was stored)", err)
	}
	return err
}

// Print implements [term.Result].
func (d Imported) Print(p *term.Page) {
	session, folds := store.SessionKey{Tenant: d.Tenant, Session: d.Session}.String(), term.Plural(d.Folds, "fold")
	switch {
	case d.Mended > 0:
		p.Line("Repaired %s of session %s and added %s; %s checked.", EntryCount(uint64(d.Mended)), session,
			EntryCount(d.Added), folds)
	case d.Added > 0 && d.Added < d.Entries:
		p.Line("Imported the remaining %s of session %s (%d in all); %s checked.", EntryCount(d.Added), session,
			d.Stored, folds)
	case d.Added > 0:
		p.Line("Imported session %s: %s; %s checked.", session, EntryCount(d.Added), folds)
	case d.Stored > d.Entries:
		p.Line("Session %s is there already and has gone on: %s, the file has %d.", session,
			EntryCount(d.Stored), d.Entries)
	default:
		p.Line("Session %s is there already: %s, all the same; %s checked.", session, EntryCount(d.Stored), folds)
	}
}

// run compares the entries that the store has with those of the file, adds the others,
// and checks the session's folds.
func (i *importing) run(ctx context.Context, doing string) (Imported, error) {
	done := Imported{Format: "pleat/import/1", Tenant: i.key.Tenant, Session: i.key.Session}
	there, err := collect(i.store.Scan(ctx, i.key, 1))
	if err != nil {
		return done, err
	}
	w := entryWriter{store: i.store, key: i.key, last: uint64(len(there))}
	more := func(err error) error {
		if err != nil {
			err = fmt.Errorf("%w (%d of its entries are stored; import again to go on)", err, w.last+w.added)
		}
		return err
	}
	err = i.read(ctx, doing, func(e store.Entry) error {
		if e.Seq > w.last {
			return more(w.add(ctx, e))
		}
		if !equalEntries(there[e.Seq-1], e) {
			return fmt.Errorf("%w, different from entry %d (%s) on; it was left as it is "+
				"(--as NAME imports under another name)", errOtherContent, e.Seq, e.Kind)
		}
		mended, err := i.mend(ctx, e)
		done.Mended += mended
		return err
	})
	if err == nil {
		err = more(w.flush(ctx))
	}
	if err != nil {
		return done, err
	}
	done.Entries, done.Added, done.Stored = i.r.header.Entries, w.added, w.last+w.added
	tell := i.Progress()
	defer tell.Done()
	folds, problems, err := checkSession(ctx, i.store, i.key, tell)
	done.Folds = folds
	switch {
	case err != nil:
		return done, fmt.Errorf("read %s: the session does not open: %w", i.name, err)
	case len(problems) > 0:
		return done, fmt.Errorf("read %s: %s cannot be unfolded, the first: %s", i.name,
			term.Plural(len(problems), "fold"), problems[0])
	}
	return done, nil
}

// mend replaces the stored body of an entry if it is damaged, and returns how many it
// replaced. A store replaces a damaged body when a new entry brings it again, so a
// temporary session does.
func (i *importing) mend(ctx context.Context, e store.Entry) (int, error) {
	if len(e.Body) == 0 {
		return 0, nil
	}
	if _, err := i.store.Body(ctx, i.key, transcript.HashOf(e.Body)); !errors.Is(err, store.ErrCorrupt) {
		return 0, err
	}
	key := store.SessionKey{Tenant: i.key.Tenant, Session: "mending " + i.key.Session}
	// Left by an interrupted import.
	if err := i.store.Forget(ctx, key); err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	if _, err := i.store.Append(ctx, key, 0, store.Entry{Kind: e.Kind, Time: e.Time, Body: e.Body}); err != nil {
		return 0, fmt.Errorf("repair entry %d: %w", e.Seq, err)
	}
	return 1, i.store.Forget(ctx, key)
}

// equalEntries compares what Scan yields of two entries.
func equalEntries(a, b store.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Label == b.Label && a.Time.Equal(b.Time) &&
		bytes.Equal(a.Data, b.Data) && a.BodyHash == b.BodyHash && a.BodySize == b.BodySize
}

// collect gathers what a sequence yields until its first error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for x, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// entryWriter appends entries to a session in batches, because each Append waits for the
// disk.
type entryWriter struct {
	store store.Store
	key   store.SessionKey
	last  uint64 // the newest entry that was there before
	added uint64

	batch []store.Entry
	size  int
}

const importEntries, importBytes = 256, 4 << 20 // of a batch

func (w *entryWriter) add(ctx context.Context, e store.Entry) error {
	w.batch = append(w.batch, e)
	if w.size += len(e.Body) + len(e.Data) + len(e.Text); len(w.batch) == importEntries || w.size >= importBytes {
		return w.flush(ctx)
	}
	return nil
}

func (w *entryWriter) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}
	if _, err := w.store.Append(ctx, w.key, w.last+w.added, w.batch...); err != nil {
		return err
	}
	w.added += uint64(len(w.batch))
	w.batch, w.size = w.batch[:0], 0
	return nil
}
