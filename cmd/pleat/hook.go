package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/hook"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// hookCommand is what "pleat setup AGENT --inside" makes an agent run around its own
// compaction. Whatever fails, it ends well and says nothing: the agent goes on as without it,
// and "pleat doctor" tells.
func hookCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use: hook.Name + " EVENT", Hidden: true,
		Short:              "answer a hook of an agent: JSON in, JSON out",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	agent := fs.String("agent", "claude", "the `AGENT` that runs it")
	part := fs.Int("part", 0, "answer with part `N` of the page; 0: with all of it")
	inside := fs.Bool("inside", true, "false: do nothing, as a line in a project's pleat.toml can say")
	c.RunE = func(c *cobra.Command, args []string) error {
		debug.SetGCPercent(400) // an agent waits, and it is over soon
		_, wrong := settle(p, c)
		if wrong == nil && len(args) != 1 {
			wrong = errors.New("want one event")
		}
		program, _ := os.Executable()
		return hook.Run(c.Context(), first(args), hook.Options{
			Wrong: wrong, In: p.Stdin, Out: p.Stdout, Agent: *agent, Part: *part, Off: !*inside, Proxied: records(p).Has(*agent),
			Base:    cmp.Or(p.Getenv("ANTHROPIC_BASE_URL"), p.Getenv("OPENAI_BASE_URL")),
			Program: clients.ShellWord(runtime.GOOS, program), Folder: dataFolder(p, "hook"),
			Open: func(ctx context.Context, busy time.Duration) (library.Store, error) {
				f.Busy = busy
				return stores.Open(ctx, p, f)
			},
			Tenant: f.Tenant, Home: p.Home(),
		})
	}
	return c
}
