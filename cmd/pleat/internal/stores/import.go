package stores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pleat-dev/pleat/internal/journal"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Import brings the sessions in an export file into a store, a single one under another name if
// there is one. The whole file is checked first; a store is opened, and made, only then.
func Import(ctx context.Context, p *term.Console, f *Flags, file *os.File, name, as string) (*Imports, error) {
	i := importing{Console: p, file: file, name: name, flags: f, as: as, refused: make(map[int]bool)}
	if err := i.each(ctx, func() error { return i.try(ctx) }); err != nil {
		return nil, err
	}
	var err error
	if i.store, err = Open(ctx, p, f); err != nil {
		return nil, err
	}
	defer i.store.Close()
	all := &Imports{Format: "pleat/imports/1", Sessions: []Imported{}, many: i.many}
	err = i.each(ctx, func() error {
		done, err := i.bring(ctx)
		if err == nil {
			all.Sessions = append(all.Sessions, done)
		}
		return err
	})
	all.Problems = append([]Problem{}, i.problems...)
	return all, err
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

// bring imports the session that the file is at.
func (i *importing) bring(ctx context.Context) (done Imported, err error) {
	twin := ""
	if !i.many {
		twin, err = i.place(ctx, i.as != "")
	}
	if err == nil {
		done, err = i.run(ctx, "importing")
	}
	if err == nil && twin != "" {
		i.Note("pleat: the store also has %s: they are two sessions\n", twin)
	}
	return done, err
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

type importing struct {
	*term.Console
	flags    *Flags
	file     *os.File
	name, as string
	many     bool  // the file has several sessions
	store    Store // nil: the file is being checked
	refused  map[int]bool
	problems []Problem

	r   *exportReader
	key store.SessionKey // of the session that it is at
}

// each reads the file from its beginning, and calls do at the beginning of each session that was not
// refused before. It checks what do leaves of a session.
func (i *importing) each(ctx context.Context, do func() error) (err error) {
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", i.name, err)
	}
	if i.r, err = newExportReader(i.name, i.file); err != nil {
		return err
	}
	i.many = i.r.header.More > 0
	if i.many && i.as != "" {
		return term.UsageError("--as is for a file with one session, this one has several")
	}
	for at := 0; ; at++ {
		h := i.r.header
		if i.key = i.flags.Key(i.as); i.as == "" {
			i.key.Session, i.key.Tenant = string(h.Session), cmp.Or(i.flags.Tenant, string(h.Tenant))
		}
		if !i.refused[at] {
			err := do()
			switch {
			case err != nil && i.onlyThis(ctx, err):
				i.refused[at] = true
				i.problems = append(i.problems, Problem{i.key.Tenant, i.key.Session, err.Error()})
			case err != nil && i.store != nil:
				return fmt.Errorf("import session %s: %w", i.key, err)
			case err != nil:
				return err
			}
		}
		for i.r.err == nil {
			_, _ = i.r.next()
		}
		switch {
		case !errors.Is(i.r.err, io.EOF):
			return i.r.err
		case h.More == 0:
			return nil
		}
		if err := i.r.begin(); err != nil {
			return err
		}
	}
}

// onlyThis reports whether an error is about one of several sessions, so that the others may still be
// imported.
func (i *importing) onlyThis(ctx context.Context, err error) bool {
	switch {
	case !i.many || ctx.Err() != nil || i.r.err != nil && !errors.Is(i.r.err, io.EOF) || errors.Is(err, store.ErrFull):
		return false
	case i.store == nil:
		return true
	}
	return errors.Is(err, errOtherContent) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt)
}

var errOtherContent = errors.New("the store has a session of that name with other content")

// read reads the session that the file is at, and calls each with every entry. Messages come with
// their search text.
func (i *importing) read(ctx context.Context, doing string, each func(store.Entry) error) error {
	tell := i.Progress()
	defer tell.Done()
	codecs := library.Codecs()
	for {
		e, err := i.r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Kind == "" {
			return fmt.Errorf("read %s: entry %d has no kind", i.name, e.Seq)
		}
		if e.Text, err = journal.Text(e, codecs); err != nil {
			return fmt.Errorf("read %s: line %d: %w", i.name, i.r.number, err)
		}
		if err := each(e); err != nil {
			return err
		}
		tell.Say("%s %d of %s", doing, e.Seq, EntryCount(i.r.header.Entries))
	}
}
