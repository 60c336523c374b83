package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/spf13/cobra"
)

func storeCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "list, check, export, import and delete stored sessions",
		Long: `The store has every session that was folded, with all its bytes: in a file, or in a PostgreSQL
database that many share. Without --tenant these commands look at the sessions of all tenants.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return term.UsageError(fmt.Sprintf("unknown command %q for %q%s", args[0], c.CommandPath(),
					term.DidYouMean("", args[0], names(c))))
			}
			return term.UsageError("store needs to know what to do: " + strings.Join(names(c), ", "))
		},
	}
	c.AddCommand(listCommand(p), exportCommand(p), importCommand(p), verifyCommand(p), gcCommand(p),
		storePageCommand(p), forgetCommand(p), migrateCommand(p))
	return c
}

func migrateCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Args:  noArguments,
		Short: "make the tables of a database or bring them up to date, as their owner",
		Long: `Makes the tables of a store if there are none, and brings those of an older version up to date. Every
command that writes makes missing tables too, and brings a file up to date, after a copy was made beside it. The
tables of a PostgreSQL database are brought up to date by this command alone. It makes no copy: run pg_dump first.`,
	}
	f := stores.Declare(c.Flags())
	c.RunE = runs(p, onStore(f, stores.Migrate,
		func(_ context.Context, p *term.Console, _ stores.Store, _ []string) error {
			p.Printf("The store has its tables.\n")
			return nil
		}))
	return c
}
