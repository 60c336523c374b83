// Package clients knows the agents of others: how each is pointed to a proxy, run through one, or made to run
// pleat when it compacts, and what was changed for that, so that it can be taken back.
package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Client is an agent of others, and how it is told to send its requests elsewhere. In its
// texts $URL is the address of the proxy.
type Client struct {
	Name, Title string
	// Env is what "pleat wrap" adds to the environment, beyond what every program gets.
	Env []string
	// home names the folder of its configuration, where it is set; else folder is below the
	// user's home, or below the configuration folder, if it begins with a letter.
	home, folder string
	// keys are what "pleat setup" sets in a file of that folder, as path=value. none: it has
	// no file for it, and Hint says what to do instead.
	File string
	keys []string
	Hint string
	// inside is what "pleat setup --inside" sets hooks in, beside File, or makes, where it has a script.
	inside, script string
	// Environ: these keys are variables of its environment, and others can be set beside them.
	Environ bool
	// Settings: it reads the address from its own settings alone, so it cannot be wrapped.
	Settings bool
	// Why it cannot be used with pleat at all.
	Why string
}

// All are the agents that pleat knows. "pleat setup" lists them.
var All = []Client{
	{
		Name: "claude", Title: "Claude Code", home: "CLAUDE_CONFIG_DIR", folder: "~/.claude", File: "settings.json",
		keys: []string{"env/ANTHROPIC_BASE_URL=$URL"}, Environ: true, inside: "settings.json",
	},
	{
		Name: "codex", Title: "Codex", home: "CODEX_HOME", folder: "~/.codex", File: "config.toml",
		keys: []string{"openai_base_url=$URL/v1"}, inside: "hooks.json",
	},
	{
		Name: "opencode", Title: "opencode", folder: "~/.config/opencode", File: "opencode.json",
		keys:   []string{"provider/anthropic/options/baseURL=$URL/v1", "provider/openai/options/baseURL=$URL/v1"},
		inside: "plugins/pleat.js", script: opencodeInside,
	},
	{
		Name: "pi", Title: "pi", home: "PI_CODING_AGENT_DIR", folder: "~/.pi/agent", File: "models.json",
		keys:   []string{"providers/anthropic/baseUrl=$URL", "providers/openai/baseUrl=$URL/v1"},
		inside: "extensions/pleat.js", script: piInside,
	},
	{
		Name: "gemini", Title: "Gemini CLI", folder: "~/.gemini", File: ".env",
		keys: []string{"GOOGLE_GEMINI_BASE_URL=$URL"}, Environ: true,
	},
	{
		Name: "qwen", Title: "Qwen Code", folder: "~/.qwen", File: ".env",
		keys: []string{"OPENAI_BASE_URL=$URL/v1"}, Environ: true, inside: "settings.json",
	},
	{
		Name: "cline", Title: "Cline", Settings: true, folder: "~/.cline/data/settings", File: "providers.json",
		keys: []string{"providers/openai-compatible/settings/baseUrl=$URL/v1"},
	},
	{
		Name: "goose", Title: "Goose", Env: []string{"ANTHROPIC_HOST=$URL", "OPENAI_HOST=$URL"},
		folder: "goose", File: "config.yaml", keys: []string{"ANTHROPIC_HOST=$URL", "OPENAI_HOST=$URL"},
	},
	{
		Name: "aider", Title: "Aider", Env: []string{"ANTHROPIC_API_BASE=$URL", "OPENAI_API_BASE=$URL/v1"},
		folder: "~", File: ".aider.conf.yml", keys: []string{"set-env=ANTHROPIC_API_BASE=$URL,OPENAI_API_BASE=$URL/v1"},
	},
	{
		Name: "crush", Title: "Crush", Env: []string{"ANTHROPIC_API_ENDPOINT=$URL", "OPENAI_API_ENDPOINT=$URL/v1"},
		folder: "crush", File: "crush.json", keys: []string{
			"providers/anthropic/base_url=$URL",
			"providers/openai/base_url=$URL/v1",
		},
	},
	{
		Name: "copilot", Title: "Copilot CLI",
		Hint: "no setting for this; with a key of your own, export COPILOT_PROVIDER_BASE_URL=$URL/v1 " +
			"(without /v1 if COPILOT_PROVIDER_TYPE is anthropic); requests of a Copilot plan go to GitHub",
	},
	{
		Name: "zed", Title: "Zed", Settings: true, folder: "zed", File: "settings.json",
		keys: []string{"language_models/anthropic/api_url=$URL", "language_models/openai/api_url=$URL/v1"},
	},
	{
		Name: "continue", Title: "Continue", Settings: true,
		Hint: "give each model in ~/.continue/config.yaml its address: apiBase: $URL/v1",
	},
	{Name: "cursor", Title: "Cursor", Why: "its requests come from Cursor's servers, which cannot reach this machine"},
	{Name: "amp", Title: "Amp", Why: "its requests go to Amp's server, which asks the models"},
}

// Find finds a client by its name.
func Find(name string) (Client, error) {
	for _, c := range All {
		if c.Name == name {
			return c, nil
		}
	}
	names := Names()
	return Client{}, term.UsageError(fmt.Sprintf("there is no agent %q: there are %s%s", name,
		strings.Join(names, ", "), term.DidYouMean("", name, names)))
}

// Names are the names of all clients.
func Names() (names []string) {
	for _, c := range All {
		names = append(names, c.Name)
	}
	return names
}

// Installed reports whether the client's program is on the PATH.
func (c Client) Installed() bool {
	_, err := exec.LookPath(c.Name)
	return err == nil
}

// Path is the file that "pleat setup" changes; "" if there is no home.
func (c Client) Path(getenv func(string) string) string { return c.path(c.File, getenv) }

// path is a file in the folder of its configuration; "" if there is no home.
func (c Client) path(name string, getenv func(string) string) string {
	dir := c.dir(getenv)
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if other := path + "c"; filepath.Ext(path) == ".json" && term.Missing(path) && !term.Missing(other) {
		return other // opencode.jsonc, where that is the one in use
	}
	return path
}

// dir is the folder of its configuration; "" if there is no home.
func (c Client) dir(getenv func(string) string) string {
	if c.home != "" && getenv(c.home) != "" {
		return getenv(c.home)
	}
	rest, below := strings.CutPrefix(c.folder, "~")
	dir := getenv("HOME")
	if runtime.GOOS == "windows" {
		dir = getenv("USERPROFILE")
	}
	own := getenv("XDG_CONFIG_HOME")
	if config, ok := strings.CutPrefix(rest, "/.config/"); ok && filepath.IsAbs(own) {
		dir, rest = own, config
	} else if !below {
		// Agents use ~/.config on macOS, too; editors do not.
		goos := runtime.GOOS
		if goos == "darwin" && c.Name != "vscode" {
			goos = "linux"
		}
		dir = term.UserFolder(goos, getenv, "AppData", "AppData/Roaming", "XDG_CONFIG_HOME", ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(rest))
}
