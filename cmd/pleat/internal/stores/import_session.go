package stores

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/store"
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

func (d Imported) key() store.SessionKey {
	return store.SessionKey{Tenant: d.Tenant, Session: d.Session}
}

// Print implements [term.Result].
func (d Imported) Print(p *term.Page) {
	session, folds := d.key(), term.Plural(d.Folds, "fold")
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

// equalEntries compares what Scan yields of two entries.
func equalEntries(a, b store.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Label == b.Label && a.Time.Equal(b.Time) &&
		bytes.Equal(a.Data, b.Data) && a.BodyHash == b.BodyHash && a.BodySize == b.BodySize
}

var codecs = library.Codecs()

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

// add adds an entry, whose text for search follows from the rest.
func (w *entryWriter) add(ctx context.Context, e store.Entry) (err error) {
	if e.Kind == "" {
		return fmt.Errorf("entry %d has no kind", e.Seq)
	}
	if e.Text, err = journal.Text(e, codecs); err != nil {
		return err
	}
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

// explain says what an import that fails has stored until then.
func (w *entryWriter) explain(err error) error {
	if w.added > 0 {
		err = fmt.Errorf("%w (%d of its entries are stored; import again to go on)", err, w.last+w.added)
	}
	return err
}
