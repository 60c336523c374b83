package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

var importCommand = command{
	name:    "import",
	args:    "FILE",
	takes:   arguments{1, 1, "one file, or - for standard input"},
	summary: "bring an exported session into the store",
	help: `Reads a file that "pleat export" made, or standard input (-), and puts its session into
the store. The whole file is checked before anything is written; a damaged one is refused
with the place that is damaged. Afterwards every fold of the session is unfolded once.

Importing again changes nothing, and an import that was interrupted goes on where it
stopped. Messages that are damaged in the store are repaired from the file. A
session of the same name with other content is left as it is; --as gives the imported one
another name.`,
	examples: `pleat import session.jsonl
# beside the one that is there
pleat import session.jsonl --as from-laptop`,
	flags: func(fs *flag.FlagSet) runFunc {
		f := declareStore(fs)
		as := fs.String("as", "", "store it under this `NAME`")
		asJSON := fs.Bool("json", false, "print JSON")
		return func(ctx context.Context, p *program, args []string) error {
			file, name, err := p.openExport(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			i := importing{program: p, file: file, name: name}
			header, err := i.check(ctx)
			if err != nil {
				return err
			}
			session := string(header.Session)
			if *as != "" {
				session = *as
			}
			store, err := p.openStore(ctx, f)
			if err != nil {
				return err
			}
			defer store.Close()
			i.store, i.key = store, f.key(session)
			done, err := i.run(ctx)
			if err != nil {
				return fmt.Errorf("import session %s: %w", i.key, err)
			}
			return p.output(*asJSON, done)
		}
	},
}

// importedJSON is what "pleat import --json" prints.
type importedJSON struct {
	Format  string `json:"format"`
	Session string `json:"session"`
	Entries uint64 `json:"entries"` // in the file
	Added   uint64 `json:"added"`   // to the store
	Stored  uint64 `json:"stored"`  // in the store now
	Mended  int    `json:"mended"`  // bodies that were damaged in the store
	Folds   int    `json:"folds"`   // unfolded as a check
}

// openExport opens an export file. Standard input is kept in a temporary file that has
// no name, because it is read twice.
func (p *program) openExport(name string) (file *os.File, shown string, err error) {
	if name != "-" {
		file, err = os.Open(name)
		return file, name, err
	}
	file, err = os.CreateTemp("", "pleat-import-*")
	if err != nil {
		return nil, "", fmt.Errorf("keep standard input: %w", err)
	}
	defer os.Remove(file.Name())
	if _, err := io.Copy(file, p.stdin); err != nil {
		_ = file.Close()
		return nil, "", fmt.Errorf("read standard input: %w", err)
	}
	return file, "standard input", nil
}

// importing is one import under way.
type importing struct {
	*program
	file  *os.File
	name  string
	store store.Store
	key   store.SessionKey

	mended int
}

func (d importedJSON) print(p *page) {
	session, folds := printable(d.Session), plural(d.Folds, "fold")
	switch {
	case d.Mended > 0:
		p.line("Repaired %s of session %s and added %s; %s checked.", entryCount(uint64(d.Mended)), session, entryCount(d.Added), folds)
	case d.Added > 0 && d.Added < d.Entries:
		p.line("Imported the remaining %s of session %s (%d in all); %s checked.", entryCount(d.Added), session, d.Stored, folds)
	case d.Added > 0:
		p.line("Imported session %s: %s; %s checked.", session, entryCount(d.Added), folds)
	case d.Stored > d.Entries:
		p.line("Session %s is there already and has gone on: %s, the file has %d.", session, entryCount(d.Stored), d.Entries)
	default:
		p.line("Session %s is there already: %s, all the same; %s checked.", session, entryCount(d.Stored), folds)
	}
}

// read goes through the file from the beginning. Messages come with their search text.
func (i *importing) read(ctx context.Context, doing string, each func(store.Entry) error) (exportHeader, error) {
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return exportHeader{}, fmt.Errorf("read %s: %w", i.name, err)
	}
	r, err := newExportReader(i.name, i.file)
	if err != nil {
		return exportHeader{}, err
	}
	tell := i.progress()
	defer tell.done()
	codecs := codecs()
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
		if e.Text, err = pleat.StoredText(e, codecs); err != nil {
			return r.header, fmt.Errorf("read %s: line %d: %w", i.name, r.number, err)
		}
		if err := each(e); err != nil {
			return r.header, err
		}
		tell.say("%s %d of %s", doing, e.Seq, entryCount(r.header.Entries))
	}
}

// check reads the whole file before anything is written.
func (i *importing) check(ctx context.Context) (exportHeader, error) {
	return i.read(ctx, "checking", func(e store.Entry) error {
		if e.Kind == "" {
			return fmt.Errorf("read %s: entry %d has no kind", i.name, e.Seq)
		}
		return nil
	})
}

func (i *importing) run(ctx context.Context) (importedJSON, error) {
	done := importedJSON{Format: "pleat/import/1", Session: i.key.Session}
	last, err := i.compare(ctx)
	if err != nil {
		return done, err
	}
	if done.Entries, done.Added, err = i.add(ctx, last); err != nil {
		return done, err
	}
	done.Stored, done.Mended = last+done.Added, i.mended
	tell := i.progress()
	defer tell.done()
	folds, problems, err := checkSession(ctx, i.store, i.key, tell)
	done.Folds = folds
	switch {
	case err != nil:
		return done, fmt.Errorf("it is in the store as it was in the file, but does not open: %w", err)
	case len(problems) > 0:
		return done, fmt.Errorf("it is in the store as it was in the file, but %s cannot be unfolded, the first: %s", plural(len(problems), "fold"), problems[0])
	}
	return done, nil
}

// compare holds what the store has of the session against the file, and returns the
// number of the store's newest entry.
func (i *importing) compare(ctx context.Context) (last uint64, err error) {
	there := make([]store.Entry, 0)
	for e, err := range i.store.Scan(ctx, i.key, 1) {
		if err != nil {
			return 0, err
		}
		there = append(there, e)
	}
	if len(there) == 0 {
		return 0, nil
	}
	_, err = i.read(ctx, "comparing", func(e store.Entry) error {
		if int(e.Seq) > len(there) {
			return nil
		}
		if !equalEntries(there[e.Seq-1], e) {
			return fmt.Errorf("the store has a session of that name with other content, different from entry %d (%s) on; it was left as it is (--as NAME imports under another name)", e.Seq, e.Kind)
		}
		return i.mend(ctx, e)
	})
	return uint64(len(there)), err
}

// mend replaces the stored body of an entry if it is damaged. A store takes a body anew
// with an entry that has it, so a session that lives only for that brings it.
func (i *importing) mend(ctx context.Context, e store.Entry) error {
	if len(e.Body) == 0 {
		return nil
	}
	if _, err := i.store.Body(ctx, i.key, transcript.HashOf(e.Body)); !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	keeper := i.store.(store.Keeper)
	key := store.SessionKey{Tenant: i.key.Tenant, Session: "mending " + i.key.Session}
	if err := keeper.Forget(ctx, key); err != nil && !errors.Is(err, store.ErrNotFound) { // left by one that was interrupted
		return err
	}
	if _, err := i.store.Append(ctx, key, 0, store.Entry{Kind: e.Kind, Time: e.Time, Body: e.Body}); err != nil {
		return fmt.Errorf("repair entry %d: %w", e.Seq, err)
	}
	i.mended++
	return keeper.Forget(ctx, key)
}

// add appends the file's entries after number last.
func (i *importing) add(ctx context.Context, last uint64) (entries, added uint64, err error) {
	w := entryWriter{store: i.store, key: i.key, last: last}
	header, err := i.read(ctx, "importing", func(e store.Entry) error {
		if e.Seq <= last {
			return nil
		}
		return i.more(w.add(ctx, e), &w)
	})
	if err == nil {
		err = i.more(w.flush(ctx), &w)
	}
	return header.Entries, w.added, err
}

// more says how to go on after an error.
func (i *importing) more(err error, w *entryWriter) error {
	if err != nil {
		return fmt.Errorf("%w (%d of its entries are stored; import again to go on)", err, w.last+w.added)
	}
	return nil
}

// entryWriter appends entries to a session in batches, because each Append waits for the
// disk.
type entryWriter struct {
	store store.Store
	key   store.SessionKey
	last  uint64 // entry that was there before
	added uint64
	bytes int64 // of the bodies of those that were added

	batch []store.Entry
	size  int
}

// How much is written at once.
const (
	importEntries = 256
	importBytes   = 4 << 20
)

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
