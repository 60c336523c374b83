package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/spf13/cobra"
)

func storeCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "list, check, export, import, copy and delete stored sessions",
		Long: `The store has every session that was folded, with all its bytes: in a file, or in a PostgreSQL
database that many share. Without --tenant these commands look at the sessions of all tenants.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			var names []string
			each(c, func(c *cobra.Command) { names = append(names, c.Name()) })
			if len(args) > 0 {
				return term.UsageError(fmt.Sprintf("unknown command %q for %q%s", args[0], c.CommandPath(),
					term.DidYouMean("", args[0], names)))
			}
			return term.UsageError("store needs to know what to do: " + strings.Join(names, ", "))
		},
	}
	c.AddCommand(listCommand(p), exportCommand(p), importCommand(p), verifyCommand(p), gcCommand(p),
		storePageCommand(p), forgetCommand(p))
	for _, sub := range []struct {
		run     func(*storeOptions) runFunc
		command cobra.Command
	}{
		{func(o *storeOptions) runFunc { return o.migrate }, cobra.Command{
			Use: "migrate", Args: byStoreFlag, Short: "create or update its tables",
			Long: `Makes the tables if there are none. (Every command that writes does this too, if it may.)`,
		}},
		{func(o *storeOptions) runFunc { return o.stats }, cobra.Command{
			Use: "stats", Args: byStoreFlag, Short: "show its size and what takes the room",
			Long: `Shows sessions, entries and bytes of each tenant, as they were said and as they are stored, and
the sizes of tables and indexes.`,
		}},
		{func(o *storeOptions) runFunc { return o.copy }, cobra.Command{
			Use: "copy SRC DST", Args: takes(2, 2, "two stores: SRC and DST"),
			Short: "copy sessions into another store",
			Long: `Copies the sessions of store SRC into store DST: from a file to a database, back, or to another
of the same kind. SRC and DST are files, or URLs as for --store. SRC is not changed. Every
session is read again from DST and compared. An interrupted copy goes on where it stopped, and
a repeated one copies what is new. A session that has other content in DST is left as it is
there, and reported.`,
			Example: `# from your file to the team's database
pleat store copy ~/.local/share/pleat/pleat.db postgres://pleat@db/pleat
# one session, back into a file
pleat store copy postgres://pleat@db/pleat one.db --session work`,
		}},
	} {
		o, x := &storeOptions{}, &sub.command
		o.Flags = stores.Declare(x.Flags())
		if x.Name() == "copy" {
			x.Flags().StringVar(&o.session, "session", "", "copy only the sessions with this `SESSION` name")
		}
		x.Flags().BoolVar(&o.json, "json", false, "print JSON")
		x.RunE = runs(p, sub.run(o))
		c.AddCommand(x)
	}
	return c
}

var byStoreFlag = takes(0, 0, "no arguments, --store names the store")

// storeJSON identifies the store that a JSON object is about.
type storeJSON struct {
	Format string `json:"format"`
	Store  string `json:"store"`
	Kind   string `json:"kind"`
}

type migratedJSON struct {
	storeJSON
	Before int `json:"before"` // 0: there was none
	After  int `json:"after"`
}

type statsJSON struct {
	storeJSON
	Bytes   int64              `json:"bytes"` // of the file or database
	Tenants []store.TenantSize `json:"tenants"`
	Tables  []store.TableSize  `json:"tables"` // largest first

	own int // sessions that no list has
}

type storeOptions struct {
	*stores.Flags
	session string
	json    bool
}

// at opens the store and describes it for the JSON output.
func (o *storeOptions) at(
	ctx context.Context, p *term.Console, format string, how stores.Access,
) (stores.Store, storeJSON, error) {
	store, path, err := stores.OpenAs(ctx, p, o.Flags, how)
	return store, storeJSON{format, stores.Title(path), stores.Kind(path)}, err
}

func (o *storeOptions) copy(ctx context.Context, p *term.Console, args []string) error {
	if args[0] == args[1] {
		return term.UsageError("store copy: SRC and DST are the same")
	}
	keys, err := stores.Keys(p, o.KeyFile)
	if err != nil {
		return err
	}
	src, err := stores.OpenAt(ctx, args[0], stores.ReadOnly, keys...)
	if err != nil {
		return fmt.Errorf("SRC: %w", err)
	}
	defer src.Close()
	dst, err := stores.OpenAt(ctx, args[1], stores.MakeMissing, keys...)
	if err != nil {
		return fmt.Errorf("DST: %w", err)
	}
	defer dst.Close()
	d := &stores.Copied{
		Format: "pleat/store-copy/1", From: stores.Title(args[0]), To: stores.Title(args[1]),
		Problems: []stores.Problem{},
	}
	if err := d.Copy(ctx, p, src, dst, o.Tenant, o.session); err != nil {
		return fmt.Errorf("copy %s to %s: %w (%s are there; run it again to go on)", d.From, d.To, err,
			term.Plural(d.Copied+d.Same+d.Ahead, "session"))
	}
	if d.Mute > 0 && !o.json {
		p.Note("%s cannot be read as text: copied, but search will not find them there\n",
			term.Plural(d.Mute, "message"))
	}
	if err := p.Output(o.json, d); err != nil {
		return err
	}
	if n := len(d.Problems); n > 0 {
		return fmt.Errorf("%s not copied (the others are complete)", term.Verb(n, "session", "was", "were"))
	}
	return nil
}

func (o *storeOptions) migrate(ctx context.Context, p *term.Console, _ []string) error {
	before := 0
	st, about, err := o.at(ctx, p, "pleat/store-migrate/1", stores.MustExist)
	if errors.Is(err, store.ErrNotFound) {
		st, about, err = o.at(ctx, p, "pleat/store-migrate/1", stores.MakeMissing)
	} else if err == nil {
		before = st.Schema()
	}
	if err != nil {
		return err
	}
	defer st.Close()
	return p.Output(o.json, migratedJSON{about, before, st.Schema()})
}

func (m migratedJSON) Print(p *term.Page) {
	if m.Before == 0 {
		p.Line("Made a store in %s, schema version %d.", m.Store, m.After)
		return
	}
	p.Line("Nothing to do: %s has schema version %d.", m.Store, m.After)
}

func (o *storeOptions) stats(ctx context.Context, p *term.Console, _ []string) error {
	st, about, err := o.at(ctx, p, "pleat/store-stats/1", stores.ReadOnly)
	if err != nil {
		return err
	}
	defer st.Close()
	sizes, err := st.Sizes(ctx)
	if err != nil {
		return err
	}
	tenants := slices.DeleteFunc(sizes.Tenants, func(t store.TenantSize) bool {
		return o.Tenant != "" && o.Tenant != t.Tenant
	})
	list, err := library.Conversations(ctx, st, o.Tenant)
	if err != nil {
		return err
	}
	own := -len(list)
	for i := range tenants { // as every list counts them: without bills and handoffs
		own += tenants[i].Sessions
		tenants[i].Sessions = 0
		for _, s := range list {
			if s.Key.Tenant == tenants[i].Tenant {
				tenants[i].Sessions++
			}
		}
	}
	return p.Output(o.json, &statsJSON{
		about, sizes.Bytes, append([]store.TenantSize{}, tenants...),
		append([]store.TableSize{}, sizes.Tables...), own,
	})
}

// Print implements [term.Result]: the tenants, their sum, and the tables.
func (s *statsJSON) Print(p *term.Page) {
	p.Line("%s (%s): %s", s.Store, s.Kind, term.ByteSize(s.Bytes))
	p.Line("")
	rows := [][]string{{"TENANT", "SESSIONS", "ENTRIES", "SAID", "BODIES", "KEPT IN"}}
	all := store.TenantSize{Tenant: "all"}
	add := func(t store.TenantSize, name string) {
		rows = append(rows, []string{
			name, term.Thousands(t.Sessions), term.Thousands(int(t.Entries)),
			term.ByteSize(t.BodyBytes), term.Thousands(int(t.Bodies)), term.ByteSize(t.Stored),
		})
	}
	for _, t := range s.Tenants {
		add(t, cmp.Or(t.Tenant, "(none)"))
		all.Sessions += t.Sessions
		all.Entries += t.Entries
		all.BodyBytes += t.BodyBytes
		all.Bodies += t.Bodies
		all.Stored += t.Stored
	}
	if len(s.Tenants) != 1 {
		add(all, all.Tenant)
	}
	p.Table(rows)
	if s.own > 0 {
		p.Hang(
			"", fmt.Sprintf("Entries and sizes are with %s that pleat keeps for itself: folded copies, handoffs, the "+
				"proxy's bill.", term.Plural(s.own, "session")))
	}
	p.Line("")
	rows = [][]string{{"TABLE", "ROWS", "DATA", "INDEXES"}}
	for _, t := range s.Tables {
		rows = append(rows,
			[]string{t.Name, term.Thousands(int(t.Rows)), term.ByteSize(t.Data), term.ByteSize(t.Indexes)})
	}
	p.Table(rows)
}
