package stores

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Import brings the session in an export file into a store, under another name if there is
// one. The whole file is checked first; a store is opened, and made, only then.
func Import(ctx context.Context, p *term.Console, f *Flags, file *os.File, name, as string) (done Imported, err error) {
	i := importing{Console: p, file: file, name: name}
	header, err := i.open()
	if err != nil {
		return done, err
	}
	if i.key = f.Key(as); as == "" {
		i.key.Session, i.key.Tenant = string(header.header.Session), cmp.Or(f.Tenant, string(header.header.Tenant))
	}
	if err := i.try(ctx); err != nil {
		return done, err
	}
	if i.store, err = Open(ctx, p, f); err != nil {
		return done, err
	}
	defer i.store.Close()
	twin, err := i.place(ctx, as != "")
	if err == nil {
		done, err = i.run(ctx, "importing")
	}
	if err != nil {
		return done, fmt.Errorf("import session %s: %w", i.key, err)
	}
	if twin != "" {
		p.Note("pleat: the store also has %s: they are two sessions\n", twin)
	}
	return done, nil
}

// place chooses the tenant that has the session already, unless the user named a place: what comes
// back must not become a second session. It returns the name of one that another tenant has.
func (i *importing) place(ctx context.Context, named bool) (twin string, err error) {
	list, err := library.Stored(ctx, i.store, "")
	var others []string
	for _, s := range list {
		if s.Key == i.key {
			return "", err
		}
		if s.Key.Session == i.key.Session {
			others = append(others, s.Key.Tenant)
		}
	}
	switch {
	case err != nil || len(others) == 0:
		return "", err
	case named, i.key.Tenant != "":
		return library.NamesOf(list).Full(store.SessionKey{Tenant: others[0], Session: i.key.Session}), nil
	case len(others) > 1:
		return "", fmt.Errorf("several tenants have it: name one with --tenant (%s)", strings.Join(others, ", "))
	}
	i.key.Tenant = others[0]
	return "", nil
}

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

type importing struct {
	*term.Console
	file  *os.File
	name  string
	store Store
	key   store.SessionKey
}

func (i *importing) open() (*exportReader, error) {
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", i.name, err)
	}
	return newExportReader(i.name, i.file)
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

// read reads the file from its beginning and calls each with every entry. Messages come with
// their search text.
func (i *importing) read(ctx context.Context, doing string, each func(store.Entry) error) (exportHeader, error) {
	r, err := i.open()
	if err != nil {
		return exportHeader{}, err
	}
	tell := i.Progress()
	defer tell.Done()
	codecs := library.Codecs()
	for {
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.header, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return r.header, err
		}
		if e.Kind == "" {
			return r.header, fmt.Errorf("read %s: entry %d has no kind", i.name, e.Seq)
		}
		if e.Text, err = pleat.StoredText(e, codecs); err != nil {
			return r.header, fmt.Errorf("read %s: line %d: %w", i.name, r.number, err)
		}
		if err := each(e); err != nil {
			return r.header, err
		}
		tell.Say("%s %d of %s", doing, e.Seq, EntryCount(r.header.Entries))
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
	header, err := i.read(ctx, doing, func(e store.Entry) error {
		if e.Seq > w.last {
			return more(w.add(ctx, e))
		}
		if !equalEntries(there[e.Seq-1], e) {
			return fmt.Errorf(
				"the store has a session of that name with other content, different from entry %d (%s) on; "+
					"it was left as it is (--as NAME imports under another name)", e.Seq, e.Kind)
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
	done.Entries, done.Added, done.Stored = header.Entries, w.added, w.last+w.added
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
	bytes int64 // of the added bodies

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
	for _, e := range w.batch {
		w.bytes += int64(len(e.Body))
	}
	w.added += uint64(len(w.batch))
	w.batch, w.size = w.batch[:0], 0
	return nil
}
