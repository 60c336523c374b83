package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func setupCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "setup [AGENT]",
		Args:  takes(0, 1, "one agent"),
		Short: "point an agent to the proxy for good, or take that back",
		Long: `Writes the address of the proxy into the configuration file of AGENT, so that it sends its
requests through "pleat proxy" from now on. It shows the change first and asks; elsewhere than
on a terminal --yes is needed. The rest of the file stays as it is, byte for byte. --undo takes
the change back.

While the agent is set up this way the proxy must run. "pleat wrap AGENT" needs no setup and
starts a proxy of its own. Without AGENT it lists the agents.`,
		Example: `pleat setup claude
# only show what would change
pleat setup codex --print
# as it was before
pleat setup claude --undo`,
	}
	fs := c.Flags()
	f := new(setupFlags)
	fs.StringVar(&f.url, "url", "http://127.0.0.1:4141", "the `ADDRESS` of the proxy")
	fs.BoolVar(&f.show, "print", false, "show the change and write nothing")
	fs.BoolVar(&f.yes, "yes", false, "do not ask")
	fs.BoolVar(&f.undo, "undo", false, "take the change back")
	c.ValidArgs = clientNames()
	c.RunE = runs(p, f.run)
	return c
}

type setupFlags struct {
	url             string
	show, yes, undo bool
}

func (f *setupFlags) run(ctx context.Context, p *term.Console, args []string) error {
	if len(args) == 0 {
		return p.Output(false, agentList{p})
	}
	agent, err := findClient(args[0])
	base := strings.TrimRight(f.url, "/")
	switch {
	case err != nil:
		return err
	case agent.why != "":
		return fmt.Errorf("%s cannot be pointed to a proxy: %s", agent.title, agent.why)
	case agent.file == "":
		return fmt.Errorf("%s cannot be set up from here: %s", agent.title, strings.ReplaceAll(agent.hint, "$URL", base))
	}
	if f.undo {
		undo, err := undoFile(p, agent.name)
		if err != nil {
			return err
		}
		return takeBack(ctx, p, undo, f.show, f.yes, fmt.Sprintf("\"pleat setup %s\" has changed nothing here that could be taken back", agent.name))
	}
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(base, ", ") {
		return term.UsageError(fmt.Sprintf("--url %s: want http://HOST:PORT or https://HOST", f.url))
	}
	edit, err := agent.edit(p, base)
	if err != nil {
		return err
	}
	diff := edit.Diff()
	if diff == "" {
		p.Printf("%s is set up already: %s\n", agent.title, edit.Path)
		return nil
	}
	if f.show {
		p.Printf("%s", diff)
		return nil
	}
	return applyEdit(ctx, p, edit, f.yes, "", fmt.Sprintf("%s sends its requests to %s from now on. The proxy must run: pleat proxy\nTo take it back: pleat setup %s --undo", agent.title, base, agent.name))
}

// takeBack takes a change of a client's configuration back. Without a record of one the error
// is none.
func takeBack(ctx context.Context, p *term.Console, record string, show, yes bool, none string) error {
	edit, err := clientconfig.Undo(record)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(none)
	}
	if err != nil {
		return err
	}
	diff := edit.Diff()
	p.Printf("%s", diff)
	if !show {
		err := p.Confirm(ctx, yes || diff == "", "Change "+edit.Path+"?")
		if err == nil {
			err = edit.Write()
		}
		if err != nil {
			return err
		}
	}
	switch {
	case edit.Left != nil:
		return fmt.Errorf("%s was changed in %s since then and stays as it is", strings.Join(edit.Left, ", "), edit.Path)
	case diff == "":
		p.Printf("%s has nothing of it any more.\n", edit.Path)
	case show:
	case edit.Exact:
		p.Printf("%s is as it was before.\n", edit.Path)
	default:
		p.Printf("What pleat had set in %s is taken back.\n", edit.Path)
	}
	return nil
}

// agentList shows what can be done with each agent.
type agentList struct{ p *term.Console }

func (l agentList) Print(out *term.Page) {
	row := func(name, here, setup, what string) {
		out.Hang(term.Sprint("%-9s %-9s %-8s ", name, here, setup), what)
	}
	row("AGENT", "INSTALLED", "SET UP", "WHERE, OR WHY NOT")
	for _, c := range clients {
		here, setup, what := "no", "no", c.path(l.p.Getenv)
		if _, err := exec.LookPath(c.name); err == nil {
			here = "yes"
		}
		if undo, err := undoFile(l.p, c.name); err == nil {
			if _, err := os.Stat(undo); err == nil {
				setup = "done"
			}
		}
		switch {
		case c.why != "":
			setup, what = "cannot", c.why
		case c.file == "":
			setup, what = "by hand", strings.ReplaceAll(c.hint, "$URL", "http://127.0.0.1:4141")
		}
		row(c.name, here, setup, what)
	}
}
