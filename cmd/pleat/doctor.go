package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/doctor"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/hook"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func doctorCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Args:  noArguments,
		Short: "check the installation and suggest fixes",
		Long: `Checks the version, the settings, the store, the proxy and its port, the keys in the
environment (it names them and never shows them), model servers on this machine, and the
agents that are set up. Each line says what was found, and what to do if something is wrong.
The exit code is 1 if something is.`,
		Example: "pleat doctor\npleat doctor --json",
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	listen := fs.String("listen", "", "where the proxy listens, or would: `ADDRESS` (default: as agents are set up)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error { // it must be able to report wrong settings
		_, wrong := settle(p, c)
		files, err := settingsFiles(p, c.Root())
		o := doctor.Options{
			Version: version(), Wrong: cmp.Or(err, wrong), Tenant: f.Tenant,
			Open: func(ctx context.Context) (library.Store, string, error) {
				return stores.OpenAs(ctx, p, f, stores.MustExist)
			},
			Listen: cmp.Or(*listen, proxyOf(p)), Start: proxyStart(p), Getenv: p.Getenv,
			Records: records(p), Hooks: dataFolder(p, "hook"),
		}
		for _, f := range files {
			inside, _ := f.lookup(hook.Name, "inside")
			o.Settings = append(o.Settings, doctor.Settings{Path: f.Path, Outside: slices.Equal(inside, []string{"false"})})
		}
		o.Program, _ = os.Executable()
		r := doctor.Examine(c.Context(), o)
		if err := p.Output(*asJSON, r); err != nil {
			return err
		}
		if n := r.Problems(); n > 0 {
			return fmt.Errorf("%s found", term.Plural(n, "problem"))
		}
		return nil
	}
	return c
}
