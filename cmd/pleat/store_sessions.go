package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/live"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

func listCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Args:  noArguments,
		Short: "list the sessions in the store",
		Long: `Lists the sessions in pleat's store, each once, most recently used first: name, number of
entries, size of what was said, day of the newest message, and how the session begins.

(The session files that agents keep themselves are listed by "pleat sessions".)`,
		Example: `# what is in the store
pleat store list
# only the names, for scripts
pleat store list --names`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	names := fs.Bool("names", false, "print the names alone, one a line")
	asJSON := fs.Bool("json", false, "print JSON")
	c.RunE = runs(p, onStore(f, stores.ReadOnly,
		func(ctx context.Context, p *term.Console, store stores.Store, _ []string) error {
			list, err := library.Conversations(ctx, store, f.Tenant)
			if err != nil {
				return err
			}
			if len(list) == 0 && !*names && !*asJSON {
				p.Note("The store has no sessions.\n")
				return nil
			}
			if *names && !*asJSON {
				for _, name := range library.Names(list) {
					p.Printf("%s\n", name)
				}
				return nil
			}
			all := stores.Describe(ctx, store, list)
			for i := range all {
				all[i].Session = library.NameOf(list[i].Key)
			}
			return p.Output(*asJSON, stores.List{Format: "pleat/stored/1", Sessions: all})
		}))
	return c
}

func verifyCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify",
		Args:  noArguments,
		Short: "check every stored byte and every fold",
		Long: `Reads the whole store. Every entry and every stored body is hashed again; then each session
is opened, and each fold ever made in it is unfolded and compared with the hash it was made
under. Nothing is changed. All tenants' sessions are opened unless --tenant names one.

The exit code is 0 if everything is as it was stored. Otherwise it is 1, and the damage is
listed.`,
		Example: `pleat store verify
pleat store verify --store backup.db --json`,
	}
	f := stores.Declare(c.Flags())
	prints(p, c, func(ctx context.Context, p *term.Console, _ []string) (term.Result, error) {
		store, _, err := stores.OpenAs(ctx, p, f, stores.ReadOnly)
		if err != nil {
			return nil, err
		}
		defer store.Close()
		v, err := stores.Verify(ctx, p, store, f.Tenant)
		if err != nil {
			return nil, err
		}
		return v, v.Verdict()
	})
	return c
}

func exportCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "export SESSION|--all",
		Args:  takes(0, 1, "one session, or --all"),
		Short: "write a session, or all, with all bytes to one file",
		Long: `Writes a session of the store to a file or to standard output: every message as it came,
every fold, note, pin and usage record. "pleat store import" puts it into another store, where
every handle works and every view is the same bytes. --all writes all sessions, or those of --tenant:
so a store moves from a file to a database, back, or into a store with another key. A damaged session
is left out and named.

The file has lines of JSON with a check on each; docs/format.md specifies it. It holds
everything that was said in the session, so treat it like the session.`,
		Example: `# to a file
pleat store export file:3f9c20b17a44e05d -o session.jsonl
# to another machine
pleat store export file:3f9c | ssh host pleat store import -
# all of it to the team's database
pleat store export --all | pleat store import - --store postgres://pleat@db/pleat`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	out := fs.StringP("output", "o", "", "write to `FILE` instead of standard output")
	force := fs.Bool("force", false, "replace FILE if it exists")
	all := fs.Bool("all", false, "write all sessions")
	write := onStore(f, stores.ReadOnly,
		func(ctx context.Context, p *term.Console, st stores.Store, args []string) error {
			list, left, err := stores.ToExport(ctx, p, st, f, first(args))
			if err == nil {
				err = term.MayWrite(*out, *force)
			}
			if err == nil {
				err = p.WriteTo(*out, 0o600, func(w io.Writer) error { return stores.Export(ctx, p, st, list, w) })
			}
			if err != nil {
				return err
			}
			what, entries, size := term.Plural(len(list), "session"), uint64(0), int64(0)
			if !*all {
				what = "session " + list[0].Key.String()
			}
			for _, info := range list {
				entries += info.Entries
				size += info.BodyBytes
			}
			p.Note("Exported %s: %s, %s.\n", what, stores.EntryCount(entries), term.ByteSize(size))
			return stores.LeftOut(p, left, "exported")
		})
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		if *all == (len(args) > 0) {
			return term.UsageError("store export takes one session, or --all")
		}
		return write(ctx, p, args)
	})
	return c
}

func importCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Args:  takes(1, 1, "one file, or - for standard input"),
		Short: "bring exported sessions into the store",
		Long: `Reads a file that "pleat store export" made, or standard input (-), and puts its sessions into
the store, with the tenants that the file names unless --tenant or --as names another place. The whole file is
checked before anything is written; a damaged file is refused with the line that is damaged.
Afterwards every fold is unfolded once.

Importing again changes nothing, and an import that was interrupted goes on where it
stopped. Messages that are damaged in the store are repaired from the file. If the store has
a session of the same name with other content, that one is left as it is and named; --as imports the
file of one session under another name.`,
		Example: `pleat store import session.jsonl
# beside a session of the same name
pleat store import session.jsonl --as from-laptop`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	as := fs.String("as", "", "store it under this `NAME`")
	prints(p, c, func(ctx context.Context, p *term.Console, args []string) (term.Result, error) {
		name := args[0]
		in := p.Wait(ctx, name)
		defer in.Close()
		if name == "-" {
			name = "standard input"
		}
		done, err := stores.Import(ctx, p, f, in, name, *as)
		if err != nil {
			return nil, err
		}
		return done.Result(), stores.LeftOut(p, done.Problems, "imported")
	})
	return c
}

func storePageCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "page SESSION",
		Args:  takes(1, 1, "one session"),
		Short: "show what an agent with pleat inside was told after it had compacted",
		Long: `Prints the page that pleat wrote when the agent of SESSION compacted it the last time: what the
user typed, files, outcomes and handles of the rest. Everything else was dropped by the agent,
and is in the store: "pleat browse SESSION" shows it. The newest session in the store is last.`,
		Example: "pleat store page claude-code-3f9c20b17a",
	}
	f := stores.Declare(c.Flags())
	c.RunE = runs(p, onStore(f, stores.ReadOnly,
		func(ctx context.Context, p *term.Console, st stores.Store, args []string) error {
			info, err := stores.Find(ctx, p, st, f, args[0])
			if err != nil {
				return err
			}
			lib := library.New(library.Options{Store: st, Tenant: f.Tenant})
			defer lib.Close()
			page, _, err := lib.KeptPage(ctx, info.Key.Session)
			if err == nil && page == "" {
				err = fmt.Errorf("session %s has no page: no agent has compacted it with pleat inside",
					info.Key.Session)
			}
			if err == nil {
				p.Printf("%s\n", term.Visible(page))
			}
			return err
		}))
	return c
}

func forgetCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "forget SESSION|--all",
		Args:  takes(0, 1, "one session, or --all"),
		Short: "delete a session from the store permanently, or all that pleat has",
		Long: `Deletes a session and what it was folded in: messages, folds, notes, pins and search index.
Content that other sessions have too stays with them. In a file, the freed bytes are
overwritten with zeros; the file keeps its size and uses the space again. A database frees them with
VACUUM. This cannot be undone: run "pleat store export" first for what you may want back. The
files of a rehearsal are deleted too. What a proxy's session cost stays in the sums of "pleat usage"
and "pleat status".

The name must be complete. On a terminal you are asked; elsewhere --yes is needed. --all deletes
all that pleat keeps on this machine: the store and the rest of its data folder. What it has
changed in agents has to be taken back first, with "pleat setup --undo".`,
		Example: `pleat store forget file:3f9c20b17a44e05d
# without asking
pleat store forget file:3f9c20b17a44e05d --yes`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	yes := fs.Bool("yes", false, "do not ask")
	all := fs.Bool("all", false, "delete all that pleat keeps on this machine")
	one := onStore(f, stores.MustExist,
		func(ctx context.Context, p *term.Console, st stores.Store, args []string) error {
			return forgetOne(ctx, p, st, f, args[0], *yes)
		})
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		switch {
		case *all == (len(args) > 0):
			return term.UsageError("forget takes one session, or --all")
		case *all:
			return forgetEverything(ctx, p, f, *yes)
		}
		return one(ctx, p, args)
	})
	return c
}

// forgetOne deletes a session and all that was made of it.
func forgetOne(
	ctx context.Context, p *term.Console, st stores.Store, f *stores.Flags, name string, yes bool,
) error {
	info, err := stores.Find(ctx, p, st, f, name)
	if name == library.Last && err == nil { // which may be another one by the time that it is deleted
		return term.UsageError("forget needs the whole name of a session: last is " + library.NameOf(info.Key))
	}
	if errors.Is(err, store.ErrCorrupt) {
		info.Key = f.Key(name) // a damaged session can be forgotten too
	} else if err != nil {
		return err
	}
	key := info.Key
	if name == library.NameOf(key) { // and all that was made of the same file
		key.Session = name
	}
	if name != key.Session && name != key.Tenant+"/"+key.Session {
		return fmt.Errorf("session %q: %w (did you mean %s? forget needs the whole name)", name, store.ErrNotFound, key)
	}
	question := fmt.Sprintf("Delete session %s (%s, %s) permanently?", key.Session, stores.EntryCount(info.Entries),
		term.ByteSize(info.Bytes))
	if err := p.Confirm(ctx, yes, question); err != nil {
		return fmt.Errorf("forget session %s: %w", key, err)
	}
	parts, err := library.Parts(ctx, st, key)
	if err == nil {
		err = forgetAll(ctx, p, st, f, append(parts, store.SessionInfo{Key: key}))
	}
	if err != nil {
		return err
	}
	if library.IsRehearsal(key.Session) && filepath.Base(key.Session) == key.Session {
		dir, err := live.RehearsalDir(p, key.Session)
		if err == nil {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			return fmt.Errorf("session %s is forgotten, the files of the rehearsal are not: %w", key, err)
		}
	}
	p.Printf("Forgot session %s.\n", key.Session)
	return nil
}

// forgetEverything deletes the store and pleat's data folder.
func forgetEverything(ctx context.Context, p *term.Console, f *stores.Flags, yes bool) error {
	path, err := stores.Path(p, f.Path)
	if err == nil && stores.Scheme(path) != "" {
		err = fmt.Errorf("%s is not on this machine: drop the database yourself", path)
	}
	own, failed := stores.Path(p, "")
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	if all, err := records(p).Names(); err != nil || len(all) > 0 {
		undo := errors.New(`pleat has changed settings of agents: take that back first, with "pleat setup --undo"`)
		return cmp.Or(err, undo)
	}
	if err := cmp.Or(stores.InUse(ctx, path), stores.InUse(ctx, own)); err != nil {
		return err
	}
	dir := filepath.Dir(own)
	if err := p.Confirm(ctx, yes, fmt.Sprintf("Delete %s and all of %s permanently?", path, dir)); err != nil {
		return err
	}
	if err = stores.Remove(ctx, path); err == nil {
		err = stores.Remove(ctx, own)
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		p.Printf("Deleted %s and %s.\n", path, dir)
	}
	return err
}
