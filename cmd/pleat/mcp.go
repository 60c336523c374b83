package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/mcp"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func mcpCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Args:  noArguments,
		Short: "serve earlier sessions to agents over the Model Context Protocol",
		Long: `Serves the sessions that agents keep on this machine, and those in the store, to a client of
the Model Context Protocol, on standard input and output.
"pleat mcp install CLIENT" sets a client up.

Its tools are sessions, search, unfold, ledger and handoff, and note and pin, which shape
handoffs. A file is read into the store when its session is asked for, and never changed. The
server looks only into the folders that "pleat sessions" lists, and follows no links out of them.

Whoever can use the server can read all of these sessions.`,
		Example: `# set Claude Code up to use it
pleat mcp install claude`,
	}
	fs := c.Flags()
	f := &mcpFlags{store: stores.Declare(fs)}
	fs.StringVar(&f.home, "home", "", "look in this `FOLDER` instead of your home folder")
	f.index = stores.DeclareIndex(fs)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, _ []string) error { return f.serve(ctx, p) })
	c.AddCommand(mcpInstallCommand(p))
	return c
}

type mcpFlags struct {
	store *stores.Flags
	index stores.Index
	home  string
}

func (f *mcpFlags) serve(ctx context.Context, p *term.Console) (err error) {
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if p.Interactive() { // nobody reads a log there
		log = slog.New(slog.DiscardHandler)
		p.Note("pleat: this is a server for agents, which start it themselves and speak JSON with it here. " +
			"\"pleat mcp install CLIENT\" sets one up; Ctrl-C ends this one.\n")
	}
	st, err := stores.Open(ctx, p, f.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	o := library.Options{Home: cmp.Or(f.home, p.Home()), Store: st, Tenant: f.store.Tenant, Logger: log}
	if f.home == "" { // the index is of the user's own folder
		if o.Index, err = f.index.Path(p, f.store); err != nil {
			return err
		}
	}
	lib := library.New(o)
	defer lib.Close()
	srv := mcp.NewServer(lib, mcp.Options{Version: version(), Logger: log})
	return mcp.Serve(ctx, srv, p.Stdin, p.Stdout)
}

func mcpInstallCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "install CLIENT",
		Args:  takes(1, 1, "one client: "+strings.Join(clients.ServerNames, ", ")),
		Short: "set a client up to use pleat's MCP server",
		Long: `Adds pleat to the MCP servers in the configuration of a client: claude (Claude Code), codex,
opencode, cursor or vscode. It shows what changes, then asks. The rest of the file stays as
it is, byte for byte, and --undo takes the change out again.`,
		Example: `pleat mcp install claude
# what to put where, to do it by hand
pleat mcp install codex --dry-run
# take it out again
pleat mcp install codex --undo`,
	}
	edit := editFlags{done: "Restart the client to use it."}
	edit.declare(c.Flags())
	c.ValidArgs = clients.ServerNames
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		program, err := installed()
		if err != nil && !edit.undo {
			return err
		}
		i := slices.Index(clients.ServerNames, args[0])
		if i < 0 {
			return term.UsageError(fmt.Sprintf("unknown client %q: want %s", args[0],
				strings.Join(clients.ServerNames, ", ")))
		}
		change := clients.Servers(program, p.Getenv)[i]
		if edit.undo {
			return edit.takeBack(ctx, p, change.Record)
		}
		return edit.run(ctx, p, change)
	})
	return c
}

// installed is the path of this program, for the configuration of clients that start it. It
// refuses programs that are deleted soon.
func installed() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if temporary.MatchString(filepath.ToSlash(program)) {
		return "", fmt.Errorf("%s is a temporary copy, as of go run, npx or uvx: install pleat and run that", program)
	}
	return program, nil
}

// temporary matches where "go run" builds and keeps programs, and the caches of npx, uvx and "pipx run".
var temporary = regexp.MustCompile(`/go-build[^/]*/b\d+/exe/[^/]+$|/[0-9a-f]{64}-d/[^/]+$` +
	`|/_npx/|/(archive|environments)-v\d+/|/pipx/\.cache/|/(\.cache|Caches)/pipx/|/pipx/Cache/`)
