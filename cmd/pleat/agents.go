package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// client is an agent of others, and how it is told to send its requests elsewhere. In its
// texts $URL is the address of the proxy.
type client struct {
	name, title string
	// env is what "pleat wrap" adds to the environment, beyond what every program gets.
	env []string
	// home names the folder of its configuration, where it is set; else folder is below the
	// user's home, or below the configuration folder, if it begins with a letter.
	home, folder string
	// keys are what "pleat setup" sets in a file of that folder, as path=value. none: it has
	// no file for it, and hint says what to do instead.
	file string
	keys []string
	hint string
	// settings: it reads the address from its own settings alone, so it cannot be wrapped.
	settings bool
	// why it cannot be used with pleat at all.
	why string
}

// clients are the agents that pleat knows. docs/proxy.md has the same list.
var clients = []client{
	{name: "claude", title: "Claude Code", home: "CLAUDE_CONFIG_DIR", folder: "~/.claude", file: "settings.json", keys: []string{"env/ANTHROPIC_BASE_URL=$URL"}},
	{name: "codex", title: "Codex", home: "CODEX_HOME", folder: "~/.codex", file: "config.toml", keys: []string{"openai_base_url=$URL/v1"}},
	{
		name: "opencode", title: "opencode", folder: "~/.config/opencode", file: "opencode.json",
		keys: []string{"provider/anthropic/options/baseURL=$URL/v1", "provider/openai/options/baseURL=$URL/v1"},
	},
	{
		name: "pi", title: "pi", home: "PI_CODING_AGENT_DIR", folder: "~/.pi/agent", file: "models.json",
		keys: []string{"providers/anthropic/baseUrl=$URL", "providers/openai/baseUrl=$URL/v1"},
	},
	{name: "gemini", title: "Gemini CLI", folder: "~/.gemini", file: ".env", keys: []string{"GOOGLE_GEMINI_BASE_URL=$URL"}},
	{name: "qwen", title: "Qwen Code", folder: "~/.qwen", file: ".env", keys: []string{"OPENAI_BASE_URL=$URL/v1"}},
	{
		name: "cline", title: "Cline", settings: true, folder: "~/.cline/data/settings", file: "providers.json",
		keys: []string{"providers/openai-compatible/settings/baseUrl=$URL/v1"},
	},
	{
		name: "goose", title: "Goose", env: []string{"ANTHROPIC_HOST=$URL", "OPENAI_HOST=$URL"},
		folder: "goose", file: "config.yaml", keys: []string{"ANTHROPIC_HOST=$URL", "OPENAI_HOST=$URL"},
	},
	{
		name: "aider", title: "Aider", env: []string{"ANTHROPIC_API_BASE=$URL", "OPENAI_API_BASE=$URL/v1"},
		folder: "~", file: ".aider.conf.yml", keys: []string{"set-env=ANTHROPIC_API_BASE=$URL,OPENAI_API_BASE=$URL/v1"},
	},
	{
		name: "crush", title: "Crush", env: []string{"ANTHROPIC_API_ENDPOINT=$URL", "OPENAI_API_ENDPOINT=$URL/v1"},
		folder: "crush", file: "crush.json", keys: []string{"providers/anthropic/base_url=$URL", "providers/openai/base_url=$URL/v1"},
	},
	{
		name: "copilot", title: "Copilot CLI",
		hint: "it has no setting for it: with a key of your own, export COPILOT_PROVIDER_BASE_URL=$URL/v1 (without /v1 if COPILOT_PROVIDER_TYPE is anthropic); requests of a Copilot plan go to GitHub",
	},
	{
		name: "zed", title: "Zed", settings: true, folder: "zed", file: "settings.json",
		keys: []string{"language_models/anthropic/api_url=$URL", "language_models/openai/api_url=$URL/v1"},
	},
	{name: "continue", title: "Continue", settings: true, hint: "give each model in ~/.continue/config.yaml its address: apiBase: $URL/v1"},
	{name: "cursor", title: "Cursor", why: "its requests come from Cursor's servers, which cannot reach this machine"},
	{name: "amp", title: "Amp", why: "its requests go to Amp's server, which asks the models"},
}

func findClient(name string) (client, error) {
	for _, c := range clients {
		if c.name == name {
			return c, nil
		}
	}
	names := clientNames()
	return client{}, term.UsageError(fmt.Sprintf("there is no agent %q: there are %s%s", name, strings.Join(names, ", "), term.DidYouMean("", name, names)))
}

func clientNames() (names []string) {
	for _, c := range clients {
		names = append(names, c.name)
	}
	return names
}

// path is the file that "pleat setup" changes; "" if there is no home.
func (c client) path(getenv func(string) string) string {
	dir := ""
	if c.home != "" {
		dir = getenv(c.home)
	}
	rest, below := strings.CutPrefix(c.folder, "~")
	config, xdg := strings.CutPrefix(rest, "/.config/")
	if own := getenv("XDG_CONFIG_HOME"); dir == "" && xdg && filepath.IsAbs(own) {
		dir = filepath.Join(own, config)
	} else if dir == "" && below {
		home := getenv("HOME")
		if runtime.GOOS == "windows" {
			home = getenv("USERPROFILE")
		}
		if home != "" {
			dir = filepath.Join(home, filepath.FromSlash(rest))
		}
	} else if dir == "" {
		// Agents use ~/.config on macOS, too; editors do not.
		goos := runtime.GOOS
		if goos == "darwin" && c.name != "vscode" {
			goos = "linux"
		}
		if dir = term.UserFolder(goos, getenv, "AppData", "AppData/Roaming", "XDG_CONFIG_HOME", ".config"); dir != "" {
			dir = filepath.Join(dir, c.folder)
		}
	}
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, c.file)
	if other := path + "c"; filepath.Ext(path) == ".json" { // opencode.jsonc, where that is the one in use
		_, err := os.Stat(path)
		if _, err2 := os.Stat(other); err != nil && err2 == nil {
			return other
		}
	}
	return path
}

// edit plans to point the client to a proxy.
func (c client) edit(p *term.Console, base string) (*clientconfig.Edit, error) {
	path := c.path(p.Getenv)
	if path == "" {
		return nil, fmt.Errorf("set up %s: there is no home folder", c.title)
	}
	undo, err := undoFile(p, c.name)
	if err != nil {
		return nil, err
	}
	var keys []clientconfig.Key
	for _, k := range c.keys {
		name, value, _ := strings.Cut(k, "=")
		value = strings.ReplaceAll(value, "$URL", base)
		key := clientconfig.Key{Path: strings.Split(name, "/"), Value: value}
		if list := strings.Split(value, ","); len(list) > 1 {
			key.Value = clientconfig.Added(list)
		}
		keys = append(keys, key)
	}
	return clientconfig.Set(path, undo, keys...)
}

// undoFile is where it is kept what "pleat setup" changed for an agent.
func undoFile(p *term.Console, agent string) (string, error) {
	path, err := stores.Path(p, "")
	return filepath.Join(filepath.Dir(path), "setup", agent+".json"), err
}
