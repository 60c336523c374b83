package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func mcpInstallCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "install CLIENT",
		Args:  takes(1, 1, "one client: "+strings.Join(mcpClientNames(), ", ")),
		Short: "set a client up to use pleat's MCP server",
		Long: `Adds pleat to the MCP servers in the configuration of a client: claude (Claude Code), codex,
opencode, cursor or vscode. It shows what changes, then asks. The rest of the file stays as
it is, byte for byte, and --undo takes the change out again.`,
		Example: `pleat mcp install claude
# what to put where, to do it by hand
pleat mcp install codex --print
# take it out again
pleat mcp install codex --undo`,
	}
	fs := c.Flags()
	print := fs.Bool("print", false, "only say what to put where, or with --undo what would change")
	yes := fs.Bool("yes", false, "do not ask")
	undo := fs.Bool("undo", false, "take out what an earlier install added")
	c.ValidArgs = mcpClientNames()
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		i := slices.Index(mcpClientNames(), args[0])
		if i < 0 {
			return term.UsageError(fmt.Sprintf("unknown client %q: want %s", args[0], strings.Join(mcpClientNames(), ", ")))
		}
		data, client := term.DataFolder(runtime.GOOS, p.Getenv), mcpClients(program)[i]
		file := client.path(p.Getenv)
		if data == "" || file == "" {
			return errors.New("there is no home folder")
		}
		record := filepath.Join(data, "pleat", "mcp-"+args[0]+".json")
		if *undo {
			return takeBack(ctx, p, record, *print, *yes, "nothing to undo: pleat was not set up there by \"pleat mcp install\"")
		}
		if *print {
			return printByHand(p, file, client.set)
		}
		edit, err := clientconfig.Set(file, record, client.set...)
		if err != nil {
			return err
		}
		return applyEdit(ctx, p, edit, *yes, "pleat is set up already in "+file, "Restart the client to use it.")
	})
	return c
}

// mcpClient is a client, and what makes pleat one of the MCP servers in its configuration.
type mcpClient struct {
	client
	set []clientconfig.Key
}

// mcpClients are the clients that can be set up to run a program.
func mcpClients(program string) []mcpClient {
	run := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{"command": program, "args": []any{"mcp"}})
		return more
	}
	local := map[string]any{"type": "local", "command": []any{program, "mcp"}, "enabled": true}
	return []mcpClient{
		{client{name: "claude", home: "CLAUDE_CONFIG_DIR", folder: "~", file: ".claude.json"}, []clientconfig.Key{{Path: []string{"mcpServers", "pleat"}, Value: run(map[string]any{"type": "stdio"})}}},
		{client{name: "codex", home: "CODEX_HOME", folder: "~/.codex", file: "config.toml"}, []clientconfig.Key{
			{Path: []string{"mcp_servers", "pleat", "command"}, Value: program},
			{Path: []string{"mcp_servers", "pleat", "args"}, Value: []any{"mcp"}},
		}},
		{client{name: "opencode", folder: "~/.config/opencode", file: "opencode.json"}, []clientconfig.Key{{Path: []string{"mcp", "pleat"}, Value: local}}},
		{client{name: "cursor", folder: "~/.cursor", file: "mcp.json"}, []clientconfig.Key{{Path: []string{"mcpServers", "pleat"}, Value: run(map[string]any{})}}},
		{client{name: "vscode", folder: "Code/User", file: "mcp.json"}, []clientconfig.Key{{Path: []string{"servers", "pleat"}, Value: run(map[string]any{"type": "stdio"})}}},
	}
}

func mcpClientNames() (names []string) {
	for _, c := range mcpClients("") {
		names = append(names, c.name)
	}
	return names
}

// printByHand says what to put where.
func printByHand(p *term.Console, file string, keys []clientconfig.Key) error {
	dir, err := os.MkdirTemp("", "pleat-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	edit, err := clientconfig.Set(filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "undo"), keys...)
	if err != nil {
		return err
	}
	p.Note("In %s:\n", file)
	p.Printf("%s", string(edit.After))
	return nil
}

// applyEdit shows a change, asks, and makes it.
func applyEdit(ctx context.Context, p *term.Console, edit *clientconfig.Edit, yes bool, same, done string) error {
	diff := edit.Diff()
	if diff == "" {
		p.Printf("%s\n", same)
		return edit.Write()
	}
	p.Printf("%s", diff)
	err := p.Confirm(ctx, yes, "Change "+edit.Path+"?")
	if err == nil {
		err = edit.Write()
	}
	if err != nil {
		return err
	}
	p.Printf("%s\n", done)
	return nil
}
