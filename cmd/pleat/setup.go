package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/local"
)

func setupCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "setup [AGENT]",
		Args:  takes(0, 1, "one agent"),
		Short: "configure an agent to use the proxy, or to run pleat inside; --undo reverts",
		Long: `Writes the address of the proxy into the configuration file of AGENT, so that it sends its
requests through "pleat proxy" from now on. It shows the change first and asks; elsewhere than
on a terminal --yes is needed. The rest of the file stays as it is, byte for byte. --undo takes
the change back; without AGENT all that pleat has changed for any agent.

While the agent is set up this way the proxy must run: "pleat proxy start" runs it now and
whenever you log in, and setup offers to do that. "pleat wrap AGENT" needs no setup and starts
a proxy of its own. Without AGENT it lists the agents.

With --inside there is no proxy: claude, codex, opencode, pi or qwen compacts by itself as
before, runs pleat when it does, and goes on with what pleat keeps of the session. A project
whose pleat.toml says inside = false is left alone.`,
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
	address := c.Flags().String("url", "http://127.0.0.1:4141", "the `ADDRESS` of the proxy")
	c.ValidArgs = clientNames()
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		if len(args) == 0 && edit.undo {
			records, err := undoRecords(p)
			return cmp.Or(err, edit.takeBack(ctx, p, records...))
		}
		if len(args) == 0 {
			return p.Output(false, agentList{p})
		}
		agent, err := findClient(args[0])
		if err == nil && edit.undo {
			return edit.undoOne(ctx, p, agent, *inside)
		}
		if err == nil && *inside {
			return edit.inside(ctx, p, agent)
		}
		if err != nil {
			return err
		}
		return edit.proxied(ctx, p, agent, *address)
	})
	return c
}

// proxied points an agent to the proxy at an address.
func (f *editFlags) proxied(ctx context.Context, p *term.Console, agent client, address string) error {
	base := strings.TrimRight(address, "/")
	u, wrong := url.Parse(base)
	switch {
	case agent.why != "":
		return fmt.Errorf("%s cannot be pointed to a proxy: %s", agent.title, agent.why)
	case agent.file == "":
		return fmt.Errorf("%s cannot be set up from here: %s", agent.title,
			strings.ReplaceAll(agent.hint, "$URL", base))
	case wrong != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.ContainsAny(base, ", "):
		return term.UsageError(fmt.Sprintf("--url %s: want http://HOST:PORT or https://HOST",
			term.WithoutPassword(address)))
	}
	agent, err := agent.settled(base, p.Getenv)
	if err != nil {
		return err
	}
	path, keys := agent.path(p.Getenv), agent.pointTo(base)
	flags := agent.upstreams(path, keys, p.Getenv)
	if u.Port() != "" && u.Port() != "4141" {
		flags += " --listen " + u.Host
	}
	runs := "works only while the proxy runs: " + proxyStart(runtime.GOOS, p.Getenv) + flags
	if tally.Runs(ctx, base) {
		runs = "works only while the proxy runs that answers there"
	}
	f.done = agent.title + " sends its requests to " + base + " from now on, and " + runs +
		"\nTo take it back: pleat setup " + agent.name + " --undo"
	if strings.Contains(flags, "--upstream") {
		p.Printf("%s uses another server than its provider's. The proxy goes on to it with:%s\n", agent.title,
			term.WithoutPassword(flags))
	}
	if local.Name(u.Host) {
		table := keys[0].Path[:len(keys[0].Path)-1]
		if do := exposed(p.Getenv); do != "" && (!agent.environ || len(table) == 0) { // the environment wins
			f.done += "\nA web proxy is set. It may get these requests, with their keys, unless you first: " + do
		}
		if agent.environ {
			keys = append(keys, reachDirectly(path, table, p.Getenv)...)
		}
	}
	if err := f.run(ctx, p, change{record: agent.name, path: path, keys: keys}); err != nil {
		return err
	}
	return f.offer(ctx, p, agent, base, strings.Fields(flags))
}

// offer offers to start the proxy, if there is somebody to ask, none runs and the system can; and to take
// the change back, if it could not.
func (f *editFlags) offer(ctx context.Context, p *term.Console, agent client, base string, args []string) error {
	if f.show || f.yes || !p.Interactive() || base != "http://"+tally.Address ||
		!strings.HasSuffix(proxyStart(runtime.GOOS, p.Getenv), "start") {
		return nil
	}
	if tally.Runs(ctx, base) {
		return nil
	}
	if p.Confirm(ctx, false, "Start the proxy now, and whenever you log in?") != nil {
		return nil // it was said what to do
	}
	err := startService(ctx, p, tally.Address, args)
	if err == nil || p.Confirm(ctx, false, fmt.Sprintf("%v\nTake the setup of %s back?", err, agent.title)) != nil {
		return err
	}
	f.yes = true
	return f.takeBack(ctx, p, agent.name)
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
		switch proxied, inside := changed(l.p, c.name), changed(l.p, c.insideRecords()...); {
		case proxied && inside:
			setup = "both"
		case inside:
			setup = "inside"
		case proxied:
			setup = "proxy"
		}
		if changes, err := c.insideChanges(l.p.Getenv, "pleat"); err == nil && setup == "inside" {
			what = changes[0].path
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
	// environ: these keys are variables of its environment, and others can be set beside them.
	environ bool
	// settings: it reads the address from its own settings alone, so it cannot be wrapped.
	settings bool
	// why it cannot be used with pleat at all.
	why string
}

// clients are the agents that pleat knows. docs/proxy.md has the same list.
var clients = []client{
	{
		name: "claude", title: "Claude Code", home: "CLAUDE_CONFIG_DIR", folder: "~/.claude", file: "settings.json",
		keys: []string{"env/ANTHROPIC_BASE_URL=$URL"}, environ: true,
	},
	{
		name: "codex", title: "Codex", home: "CODEX_HOME", folder: "~/.codex", file: "config.toml",
		keys: []string{"openai_base_url=$URL/v1"},
	},
	{
		name: "opencode", title: "opencode", folder: "~/.config/opencode", file: "opencode.json",
		keys: []string{"provider/anthropic/options/baseURL=$URL/v1", "provider/openai/options/baseURL=$URL/v1"},
	},
	{
		name: "pi", title: "pi", home: "PI_CODING_AGENT_DIR", folder: "~/.pi/agent", file: "models.json",
		keys: []string{"providers/anthropic/baseUrl=$URL", "providers/openai/baseUrl=$URL/v1"},
	},
	{
		name: "gemini", title: "Gemini CLI", folder: "~/.gemini", file: ".env",
		keys: []string{"GOOGLE_GEMINI_BASE_URL=$URL"}, environ: true,
	},
	{
		name: "qwen", title: "Qwen Code", folder: "~/.qwen", file: ".env",
		keys: []string{"OPENAI_BASE_URL=$URL/v1"}, environ: true,
	},
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
		folder: "crush", file: "crush.json", keys: []string{
			"providers/anthropic/base_url=$URL",
			"providers/openai/base_url=$URL/v1",
		},
	},
	{
		name: "copilot", title: "Copilot CLI",
		hint: "it has no setting for it: with a key of your own, export COPILOT_PROVIDER_BASE_URL=$URL/v1 " +
			"(without /v1 if COPILOT_PROVIDER_TYPE is anthropic); requests of a Copilot plan go to GitHub",
	},
	{
		name: "zed", title: "Zed", settings: true, folder: "zed", file: "settings.json",
		keys: []string{"language_models/anthropic/api_url=$URL", "language_models/openai/api_url=$URL/v1"},
	},
	{
		name: "continue", title: "Continue", settings: true,
		hint: "give each model in ~/.continue/config.yaml its address: apiBase: $URL/v1",
	},
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
	return client{}, term.UsageError(fmt.Sprintf("there is no agent %q: there are %s%s", name,
		strings.Join(names, ", "), term.DidYouMean("", name, names)))
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

// pointTo are the keys that point the client to a proxy.
func (c client) pointTo(base string) (keys []clientconfig.Key) {
	for _, k := range c.keys {
		name, value, _ := strings.Cut(k, "=")
		value = strings.ReplaceAll(value, "$URL", base)
		key := clientconfig.Key{Path: strings.Split(name, "/"), Value: value}
		if list := strings.Split(value, ","); len(list) > 1 {
			var more clientconfig.Added
			for _, v := range list {
				more = append(more, v)
			}
			key.Value = more
		}
		keys = append(keys, key)
	}
	return keys
}
