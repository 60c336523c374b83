package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

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
	fs := c.Flags()
	f := stores.Declare(fs)
	asJSON := fs.Bool("json", false, "print JSON")
	c.RunE = runs(p, onStore(f, stores.ReadOnly, func(ctx context.Context, p *term.Console, store stores.Store, _ []string) error {
		v, err := stores.Verify(ctx, p, store, f.Tenant)
		if err != nil {
			return err
		}
		if err := p.Output(*asJSON, verifiedJSON{"pleat/verify/1", v}); err != nil {
			return err
		}
		return v.Verdict()
	}))
	return c
}

// verifiedJSON is what "pleat store verify --json" prints.
type verifiedJSON struct {
	Format string `json:"format"`
	*stores.Verified
}
