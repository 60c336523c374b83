package clients

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/hook"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Programs that agents load, which call "pleat hook". In them "$PLEAT" stands for this program.
var (
	//go:embed inside/pi.js
	piInside string
	//go:embed inside/opencode.js
	opencodeInside string
	//go:embed inside/claude.js
	claudeInside string
)

const insideMark, serverMark = "inside-", "mcp-"

// InsideRecords are the names of the changes that put pleat inside an agent.
func (c Client) InsideRecords() []string {
	names := []string{insideMark + c.Name, insideMark + c.Name + "-mcp"}
	if c.Name == "claude" {
		for _, f := range mod {
			names = append(names, insideMark+c.Name+f.record)
		}
	}
	return names
}

// mod are the files of a mod of Claude Code, which loads folders below its skills.
var mod = []struct{ record, path, text string }{
	{"-plugin", "skills/pleat/.claude-plugin/plugin.json", `{"name": "pleat", "version": "1.0.0", "author": {"name": "pleat"}, ` +
		`"description": "Compaction without a model: pleat folds the session and keeps every byte"}` + "\n"},
	{"-hooks", "skills/pleat/hooks/hooks.json", `{"modules": ["./register.js"]}` + "\n"},
	{"-mod", "skills/pleat/hooks/register.js", claudeInside},
}

// InsidePath is the file with what runs pleat around a compaction; "" if there is no home.
func (c Client) InsidePath(getenv func(string) string) string { return c.path(c.inside, getenv) }

// IsInside reports whether an agent is set up to run a program.
func (c Client) IsInside(program string, getenv func(string) string) bool {
	text, err := term.ReadRegular(c.InsidePath(getenv))
	quoted, failed := json.Marshal(program)
	return err == nil && failed == nil && (bytes.Contains(text, quoted) ||
		bytes.Contains(text, []byte(filepath.ToSlash(program)))) && bytes.Contains(text, []byte(hook.Name))
}

// Reviewed reports whether the user has reviewed a hook in Codex, which runs no other and notes that under the place
// of the hook in its file. That the hook is still the one that was reviewed is not known.
func (c Client) Reviewed(getenv func(string) string) bool {
	list, _ := clientconfig.Get(c.InsidePath(getenv), "hooks", "PreCompact")
	groups, _ := list.([]any)
	i := slices.IndexFunc(groups, func(g any) bool { return strings.Contains(fmt.Sprint(g), hook.Name+" pre-compact") })
	place := fmt.Sprintf("%s:pre_compact:%d:0", c.InsidePath(getenv), i)
	hash, _ := clientconfig.Get(c.Path(getenv), "hooks", "state", place, "trusted_hash")
	return hash != nil
}

// Inside are the files that put pleat inside an agent: what runs it around a compaction,
// and its MCP server, for recall. Kept is what the user has in place of a part of it, which stays.
func (c Client) Inside(
	program string, made Records, getenv func(string) string,
) (list []Change, kept []string, err error) {
	if c.inside == "" {
		return nil, nil, fmt.Errorf("pleat cannot be put inside %s: it can in claude, codex, opencode, pi and qwen", c.Title)
	}
	quoted, err := json.Marshal(program)
	if err != nil {
		return nil, nil, err
	}
	first := Change{
		Record: insideMark + c.Name, Path: c.InsidePath(getenv),
		text: strings.ReplaceAll(c.script, `"$PLEAT"`, string(quoted)),
	}
	if c.script == "" {
		first.keys = hooksOf(program, c.Name)
	}
	free := func(record, path, what string, k clientconfig.Key) bool {
		ok, failed := made.isFree(record, path, k)
		if err = cmp.Or(err, failed); !ok {
			kept = append(kept, what+" in "+path)
		}
		return ok
	}
	if c.Name == "claude" {
		line := clientconfig.Key{Path: []string{"statusLine"}, Value: map[string]any{
			"type": "command", "command": shellCall(runtime.GOOS, program, "status-line", "claude"),
		}}
		if free(first.Record, first.Path, "statusLine", line) {
			first.keys = append(first.keys, line)
		}
	}
	list = append(list, first)
	for _, f := range mod {
		if c.Name == "claude" {
			list = append(list, Change{
				Record: insideMark + c.Name + f.record, Path: c.path(f.path, getenv),
				text: strings.ReplaceAll(f.text, `"$PLEAT"`, string(quoted)),
			})
		}
	}
	if i := slices.Index(ServerNames, c.Name); i >= 0 && c.Name != "claude" { // whose mod has the tools
		m := Servers(program, getenv)[i]
		m.Record = insideMark + c.Name + "-mcp"
		if free(m.Record, m.Path, "the MCP server pleat", m.keys[0]) {
			list = append(list, m)
		}
	}
	return list, kept, err
}

// hooksOf are the hooks of Claude Code and of those that have taken over its form. They come
// after those that are there.
func hooksOf(program, agent string) []clientconfig.Key {
	wait := (2 * hook.Time).Seconds()
	if agent == "qwen" { // which counts milliseconds
		wait *= 1000
	}
	run := func(name string) map[string]any {
		return map[string]any{"type": "command", "command": shellCall(runtime.GOOS, program, name, agent), "timeout": wait}
	}
	after := []any{run("session-start")}
	switch agent {
	case "claude": // a part of the page in each
		after = nil
		for n := range hook.Parts {
			after = append(after, run(fmt.Sprint("session-start --part ", n+1)))
		}
	case "codex":
		after[0].(map[string]any)["additionalContextLimit"] = hook.CodexLimit
	}
	before := map[string]any{"hooks": []any{run("pre-compact")}}
	return []clientconfig.Key{
		{Path: []string{"hooks", "PreCompact"}, Value: clientconfig.Added{before}},
		{Path: []string{"hooks", "SessionStart"}, Value: clientconfig.Added{map[string]any{"hooks": after, "matcher": "compact"}}},
	}
}

// shellCall is a command of a shell that runs a hook. One that cannot be run must not stop the
// agent: pleat may have been deleted since.
func shellCall(system, program, event, agent string) string {
	call := fmt.Sprintf("%s %s %s --agent %s", ShellWord(system, program), hook.Name, event, agent)
	if system == "windows" {
		return call
	}
	return call + " || exit 0"
}

// ShellWord is how a shell is told of a program.
func ShellWord(system, program string) string {
	if system == "windows" { // whichever shell that is
		return `"` + strings.ReplaceAll(program, `\`, "/") + `"`
	}
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
}

// Servers are the changes that make a program one of the MCP servers of clients, in the order of [ServerNames].
func Servers(program string, getenv func(string) string) []Change {
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
	in := func(c Client, keys []clientconfig.Key) Change {
		return Change{Record: serverMark + c.Name, Path: c.Path(getenv), keys: keys}
	}
	return []Change{
		in(Client{Name: "claude", home: "CLAUDE_CONFIG_DIR", folder: "~", File: ".claude.json"},
			one(stdio, "mcpServers", "pleat")),
		in(Client{Name: "codex", home: "CODEX_HOME", folder: "~/.codex", File: "config.toml"}, codex),
		in(Client{Name: "opencode", folder: "~/.config/opencode", File: "opencode.json"}, one(local, "mcp", "pleat")),
		in(Client{Name: "cursor", folder: "~/.cursor", File: "mcp.json"}, one(plain, "mcpServers", "pleat")),
		in(Client{Name: "vscode", folder: "Code/User", File: "mcp.json"}, one(stdio, "servers", "pleat")),
	}
}

// ServerNames are the names of clients that take servers.
var ServerNames = []string{"claude", "codex", "opencode", "cursor", "vscode"}
