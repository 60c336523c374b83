package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/local"
)

func setupCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "setup [AGENT]",
		Args:  takes(0, 1, "one agent"),
		Short: "configure an agent to use the proxy, or to run pleat inside; --undo reverts",
		Long: `Writes the address of the proxy into the configuration of AGENT, which then sends its requests
through "pleat proxy". Setup shows the change and asks; without a terminal it needs --yes. The
rest of the file stays byte for byte. --undo reverts the change, or all changes if no AGENT is given.

The proxy must run from then on: setup offers to start it, as "pleat proxy start" does. If no
proxy answers, nothing is written, unless --later is given. "pleat wrap AGENT" needs no setup.
Without AGENT setup lists the agents.

With --inside there is no proxy: claude, codex, opencode, pi or qwen compacts as before, runs
pleat when it does, and goes on with what pleat keeps of the session. A project whose
pleat.toml says inside = false is left alone.`,
		Example: `pleat setup claude
# no proxy: pleat steps in when Claude Code compacts
pleat setup claude --inside
# only show what would change
pleat setup codex --dry-run
# as it was before
pleat setup claude --undo`,
	}
	var edit editFlags
	edit.declare(c.Flags())
	inside := c.Flags().Bool("inside", false, "let the agent run pleat when it compacts, instead of a proxy")
	c.Flags().BoolVar(&edit.later, "later", false, "write the address although no proxy answers there yet")
	address := c.Flags().String("url", "http://127.0.0.1:4141", "the `ADDRESS` of the proxy")
	c.ValidArgs = clients.Names()
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		if len(args) == 0 && !edit.undo {
			return p.Output(false, agentList{p.Getenv, records(p)})
		}
		if len(args) == 0 {
			all, err := records(p).Names()
			return cmp.Or(err, edit.takeBack(ctx, p, all...))
		}
		agent, err := clients.Find(args[0])
		switch {
		case err != nil:
			return err
		case edit.undo:
			return edit.undoOne(ctx, p, agent, *inside)
		case *inside:
			return edit.inside(ctx, p, agent)
		}
		return edit.proxied(ctx, p, agent, *address)
	})
	return c
}

// proxied points an agent to the proxy at an address, once one answers there.
func (f *editFlags) proxied(ctx context.Context, p *term.Console, agent clients.Client, address string) error {
	base := strings.TrimRight(address, "/")
	u, wrong := url.Parse(base)
	if wrong != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		strings.ContainsAny(base, ", ") {
		return term.UsageError(fmt.Sprintf("--url %s: want http://HOST:PORT or https://HOST",
			term.WithoutPassword(address)))
	}
	to, err := agent.Point(base, local.Name(u.Host), p.Getenv)
	if err != nil {
		return err
	}
	flags := to.Upstreams
	if u.Port() != "" && u.Port() != "4141" {
		flags += " --listen " + u.Host
	}
	start := "start one there"
	if local.Name(u.Host) {
		start = "run " + proxyStart(p) + flags
	}
	runs := "while the proxy runs that answers there"
	if f.later {
		runs = "once a proxy answers there: " + start
	}
	f.done = agent.Title + " sends its requests to " + base + " from now on, and works only " + runs +
		"\nTo take it back: pleat setup " + agent.Name + " --undo"
	f.before = func() error { return f.reach(ctx, p, base, start) }
	if to.Upstreams != "" {
		p.Printf("%s uses another server than its provider's. The proxy goes on to it with:%s\n", agent.Title,
			term.WithoutPassword(flags))
	}
	if to.First != "" {
		f.done += "\nA web proxy is set. It may get these requests, with their keys, unless you first: " + to.First
	}
	return f.run(ctx, p, to.Change)
}

// reach sees to it that a proxy answers at an address before an agent is pointed to it: one that runs, or one that
// the user lets the system start.
func (f *editFlags) reach(ctx context.Context, p *term.Console, base, start string) error {
	if f.later || tally.Runs(ctx, base) {
		return nil
	}
	flags, service := strings.CutPrefix(start, "run pleat proxy start")
	if service && base == "http://"+tally.Address &&
		p.Confirm(ctx, f.yes, "No proxy answers at "+base+". Start it now, and whenever you log in?") == nil {
		if err := startService(ctx, p, tally.Address, strings.Fields(flags)); err != nil || tally.Runs(ctx, base) {
			return err
		}
	}
	return fmt.Errorf("nothing was changed, because no proxy answers at %s: first %s, or give --later", base, start)
}

// inside puts pleat inside an agent.
func (f *editFlags) inside(ctx context.Context, p *term.Console, agent clients.Client) error {
	program, err := installed()
	if err != nil {
		return err
	}
	changes, kept, err := agent.Inside(program, records(p), p.Getenv)
	if err != nil {
		return err
	}
	for _, k := range kept {
		p.Printf("%s is yours and stays as it is.\n", k)
	}
	f.done = agent.Title + " runs pleat when it compacts. Restart it to begin.\n" +
		"To take it back: pleat setup " + agent.Name + " --inside --undo"
	if agent.Name == "codex" {
		f.done += "\nCodex asks you to review new hooks (/hooks), and runs them only when you have."
	}
	return f.run(ctx, p, changes...)
}

// agentList shows what can be done with each agent.
type agentList struct {
	getenv func(string) string
	made   clients.Records
}

func (l agentList) Print(out *term.Page) {
	row := func(name, here, setup, what string) {
		out.Hang(term.Sprint("%-9s %-9s %-8s ", name, here, setup), what)
	}
	row("AGENT", "INSTALLED", "SET UP", "WHERE, OR WHY NOT")
	for _, c := range clients.All {
		here, setup, what := map[bool]string{true: "yes", false: "no"}[c.Installed()], "no", c.Path(l.getenv)
		switch proxied, inside := l.made.Has(c.Name), l.made.Has(c.InsideRecords()...); {
		case proxied && inside:
			setup = "both"
		case inside:
			setup, what = "inside", c.InsidePath(l.getenv)
		case proxied:
			setup = "proxy"
		}
		switch {
		case c.Why != "":
			setup, what = "cannot", c.Why
		case c.File == "":
			setup, what = "by hand", strings.ReplaceAll(c.Hint, "$URL", "http://127.0.0.1:4141")
		}
		row(c.Name, here, setup, what)
	}
	out.Hang("", `"pleat setup AGENT --inside" needs no proxy; without --inside the agent uses the proxy`)
}
