package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/library"
)

func listCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Args:  noArguments,
		Short: "list the sessions in the store",
		Long: `Lists the sessions in pleat's store, most recently used first: name, number of entries, size
of what was said, date of the newest entry, and how the session begins.

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
	c.RunE = runs(p, onStore(f, stores.ReadOnly, func(ctx context.Context, p *term.Console, store stores.Store, _ []string) error {
		list, err := library.Stored(ctx, store, f.Tenant)
		if err != nil {
			return err
		}
		if f.Tenant == "" {
			list = stores.WithoutBill(list)
		}
		if len(list) == 0 && !*names && !*asJSON {
			p.Note("The store has no sessions.\n")
			return nil
		}
		return p.Output(*asJSON, stores.List{Format: "pleat/stored/1", Sessions: stores.Describe(ctx, store, list), NamesOnly: *names})
	}))
	return c
}
