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
		Long: `Checks the version, settings, the store, the proxy and its port, keys in the environment,
model servers on this machine, and the agents that are set up. Each line says what was found,
and what to do if something is wrong. The exit code is 1 if something is.

With --live it tries a hosted provider instead, with the key in ANTHROPIC_API_KEY, OPENAI_API_KEY
or GEMINI_API_KEY: about ten requests through a separate proxy, for a few cents. It names the
price and asks. Keys are neither shown nor stored.`,
		Example: "pleat doctor\npleat doctor --json\npleat doctor --live anthropic",
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	listen := fs.String("listen", "", "the `ADDRESS` of the proxy (default: as agents are set up)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	live := fs.String("live", "", "try a `PROVIDER` with your key: anthropic, openai or gemini")
	name := fs.String("model", "", "with --live: the `MODEL` to ask (default the cheapest)")
	yes := fs.Bool("yes", false, "with --live: do not ask")
	c.RunE = func(c *cobra.Command, _ []string) error { // it must be able to report wrong settings
		_, wrong := settle(p, c)
		if *live != "" {
			if wrong != nil {
				return wrong
			}
			r, err := tryLive(c.Context(), p, *live, *name, *yes)
			if err != nil {
				return err
			}
			return reported(p, *asJSON, r)
		}
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
			o.Settings, o.Outside = append(o.Settings, f.Path), o.Outside || slices.Equal(inside, []string{"false"})
		}
		o.Program, _ = os.Executable()
		return reported(p, *asJSON, doctor.Examine(c.Context(), o))
	}
	return c
}

// tryLive tries a provider, once the price was named and nobody objected.
func tryLive(ctx context.Context, p *term.Console, provider, name string, yes bool) (*doctor.Report, error) {
	t, err := doctor.NewTrial(provider, name, p.Getenv)
	if err != nil {
		return nil, err
	}
	p.Note("%s\n", t.Price())
	if err := p.Confirm(ctx, yes, "Send them?"); err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// reported prints a report. It is an error if something in it is wrong.
func reported(p *term.Console, asJSON bool, r *doctor.Report) error {
	if err := p.Output(asJSON, r); err != nil {
		return err
	}
	if n := r.Problems(); n > 0 {
		return fmt.Errorf("%s found", term.Plural(n, "problem"))
	}
	return nil
}
