package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
		Args:  takes(1, 1, "one client: "+mcpClientNames()),
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
	c.ValidArgs = strings.Split(mcpClientNames(), ", ")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		i := slices.IndexFunc(mcpClients, func(m mcpClient) bool { return m.name == args[0] })
		if i < 0 {
			return term.UsageError(fmt.Sprintf("unknown client %q: want %s", args[0], mcpClientNames()))
		}
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		data := term.DataFolder(runtime.GOOS, p.Getenv)
		file := mcpClients[i].file(p.Getenv)
		if data == "" || file == "" {
			return errors.New("there is no home folder")
		}
		record := filepath.Join(data, "pleat", "mcp-"+args[0]+".json")
		if *undo {
			return takeBack(ctx, p, record, *print, *yes, "nothing to undo: pleat was not set up there by \"pleat mcp install\"")
		}
		keys := mcpClients[i].keys(program)
		if *print {
			return printByHand(p, file, keys)
		}
		edit, err := clientconfig.Set(file, record, keys...)
		if err != nil {
			return err
		}
		return applyEdit(ctx, p, edit, *yes, "pleat is set up already in "+file, "Restart the client to use it.")
	})
	return c
}

// mcpClient is a client with MCP servers in a configuration file.
type mcpClient struct {
	name string
	file func(getenv func(string) string) string // "": there is no home folder
	keys func(program string) []clientconfig.Key
}

var mcpClients = []mcpClient{
	{"claude", inFolder("CLAUDE_CONFIG_DIR", "", ".claude.json"), func(program string) []clientconfig.Key {
		return []clientconfig.Key{{Path: []string{"mcpServers", "pleat"}, Value: map[string]any{"type": "stdio", "command": program, "args": []any{"mcp"}}}}
	}},
	{"codex", inFolder("CODEX_HOME", ".codex", "config.toml"), func(program string) []clientconfig.Key {
		return []clientconfig.Key{
			{Path: []string{"mcp_servers", "pleat", "command"}, Value: program},
			{Path: []string{"mcp_servers", "pleat", "args"}, Value: []any{"mcp"}},
		}
	}},
	{"opencode", openCodeConfig, func(program string) []clientconfig.Key {
		return []clientconfig.Key{{Path: []string{"mcp", "pleat"}, Value: map[string]any{"type": "local", "command": []any{program, "mcp"}, "enabled": true}}}
	}},
	{"cursor", inFolder("", ".cursor", "mcp.json"), func(program string) []clientconfig.Key {
		return []clientconfig.Key{{Path: []string{"mcpServers", "pleat"}, Value: map[string]any{"command": program, "args": []any{"mcp"}}}}
	}},
	{"vscode", vscodeConfig, func(program string) []clientconfig.Key {
		return []clientconfig.Key{{Path: []string{"servers", "pleat"}, Value: map[string]any{"type": "stdio", "command": program, "args": []any{"mcp"}}}}
	}},
}

func mcpClientNames() string {
	var names []string
	for _, c := range mcpClients {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// inFolder finds a file in the folder that a variable names, or else in one in the user's home.
func inFolder(variable, folder, name string) func(func(string) string) string {
	return func(getenv func(string) string) string {
		if dir := getenv(variable); variable != "" && dir != "" {
			return filepath.Join(dir, name)
		}
		home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
		if home == "" {
			return ""
		}
		return filepath.Join(home, folder, name)
	}
}

// openCodeConfig is opencode.json, or opencode.jsonc where there is one.
func openCodeConfig(getenv func(string) string) string {
	file := inFolder("", ".config/opencode", "opencode.json")(getenv)
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		file = filepath.Join(dir, "opencode", "opencode.json")
	}
	if _, err := os.Stat(file + "c"); err == nil {
		return file + "c"
	}
	return file
}

func vscodeConfig(getenv func(string) string) string {
	dir := term.UserFolder(runtime.GOOS, getenv, "AppData", "AppData/Roaming", "XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "Code", "User", "mcp.json")
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
