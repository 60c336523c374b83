package clients

import (
	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
)

const serverMark = "mcp-"

// server is a client's list of MCP servers.
type server struct {
	client Client
	keys   []clientconfig.Key
}

// Servers are the changes that make a program one of the MCP servers of clients, in the order of [ServerNames].
func Servers(program string, getenv func(string) string) (list []Change) {
	for _, s := range servers(program) {
		list = append(list, Change{Record: serverMark + s.client.Name, Path: s.client.Path(getenv), keys: s.keys})
	}
	return list
}

// ServerNames are the names of clients that take servers.
func ServerNames() (names []string) {
	for _, s := range servers("") {
		names = append(names, s.client.Name)
	}
	return names
}

func servers(program string) []server {
	one := func(value map[string]any, path ...string) []clientconfig.Key {
		return []clientconfig.Key{{Path: path, Value: value}}
	}
	stdio := map[string]any{"type": "stdio", "command": program, "args": []any{"mcp"}}
	plain := map[string]any{"command": program, "args": []any{"mcp"}}
	local := map[string]any{"type": "local", "command": []any{program, "mcp"}, "enabled": true}
	codex := []clientconfig.Key{
		{Path: []string{"mcp_servers", "pleat", "command"}, Value: program},
		{Path: []string{"mcp_servers", "pleat", "args"}, Value: []any{"mcp"}},
	}
	return []server{
		{
			Client{Name: "claude", home: "CLAUDE_CONFIG_DIR", folder: "~", File: ".claude.json"},
			one(stdio, "mcpServers", "pleat"),
		},
		{Client{Name: "codex", home: "CODEX_HOME", folder: "~/.codex", File: "config.toml"}, codex},
		{Client{Name: "opencode", folder: "~/.config/opencode", File: "opencode.json"}, one(local, "mcp", "pleat")},
		{Client{Name: "cursor", folder: "~/.cursor", File: "mcp.json"}, one(plain, "mcpServers", "pleat")},
		{Client{Name: "vscode", folder: "Code/User", File: "mcp.json"}, one(stdio, "servers", "pleat")},
	}
}
