package upstream

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Client is a real program that talks to model servers, as it comes from the npm
// registry. The file clients.txt lists the packages with the versions that were tried;
// their install scripts are not needed.
type Client struct {
	Name  string
	Model string // that it is told to ask for
	// setup prepares a home folder for talking to the server at base and returns the
	// command that runs a prompt, and what it needs in its environment.
	setup func(o Drive) (argv, env []string, err error)
}

// Drive says how a client is run.
type Drive struct {
	Dir    string // folder with the node_modules that the packages were installed into
	Home   string // an empty folder that becomes the client's home
	Base   string // URL of the server or proxy, without a path
	Window int    // what the client is told about the model's window
	Prompt string
}

// Clients are the programs that can be driven.
var Clients = []Client{
	{"claude", "claude-sonnet-4-5", setupClaude},
	{"codex", "gpt-5.5", setupCodex(`model = "gpt-5.5"`)},
	{"codex-default", "its newest", setupCodex("")}, // whose tools stand in the input
	{"opencode-messages", "scripted", setupOpencode("@ai-sdk/anthropic")},
	{"opencode-chat", "scripted", setupOpencode("@ai-sdk/openai-compatible")},
	{"opencode-responses", "scripted", setupOpencode("@ai-sdk/openai")},
	{"gemini", "gemini-3.1-pro-preview", setupGemini("gemini-3.1-pro-preview")},
	{"gemini-no-ids", "gemini-2.5-pro", setupGemini("gemini-2.5-pro")}, // its calls have neither ids nor signatures
	{"sdk-messages", "claude-sonnet-4-5", setupSDK("messages")},
	{"sdk-chat", "gpt-5.5", setupSDK("chat")},
	{"sdk-responses", "gpt-5.5", setupSDK("responses")},
}

//go:embed clients.txt
var packages string

// Packages are the npm packages of the clients, with the versions that were tried.
func Packages() []string { return strings.Fields(packages) }

// Installed reports whether the client's program is in the folder.
func (c Client) Installed(dir string) bool {
	program := c.Program(dir)
	if filepath.IsAbs(program) {
		_, err := os.Stat(program)
		return err == nil
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// Program is where the client's program is in the folder, if it is [Client.Installed].
func (c Client) Program(dir string) string {
	argv, _, err := c.setup(Drive{Dir: dir})
	if err != nil {
		return ""
	}
	return argv[0]
}

// Run runs the client on a prompt, without a terminal and with nothing of the caller's
// environment but PATH, and returns what it printed.
func (c Client) Run(ctx context.Context, o Drive) (string, error) {
	work := filepath.Join(o.Home, "work")
	err := os.MkdirAll(work, 0o700)
	argv, env, serr := c.setup(o)
	if err := errors.Join(err, serr); err != nil {
		return "", fmt.Errorf("drive %s: %w", c.Name, err)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = work
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Home, "TMPDIR=" + o.Home}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("drive %s: %w", c.Name, err)
	}
	return string(out), nil
}

func first(pattern ...string) string {
	found, _ := filepath.Glob(filepath.Join(pattern...))
	if len(found) == 0 {
		return filepath.Join(pattern...)
	}
	return found[0]
}

func setupClaude(o Drive) (argv, env []string, err error) {
	program := first(o.Dir, "node_modules/@anthropic-ai/claude-code-*/claude")
	return []string{program, "-p", o.Prompt, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"}, []string{
		"ANTHROPIC_BASE_URL=" + o.Base, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		fmt.Sprintf("CLAUDE_CODE_AUTO_COMPACT_WINDOW=%d", o.Window),
	}, nil
}

func setupCodex(model string) func(Drive) (argv, env []string, err error) {
	return func(o Drive) ([]string, []string, error) {
		config := fmt.Sprintf(`%s
model_provider = "scripted"
model_context_window = %d
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[features]
plugins = false
[analytics]
enabled = false
`, model, o.Window, o.Base)
		program := first(o.Dir, "node_modules/@openai/codex-*/vendor/*/bin/codex")
		home := filepath.Join(o.Home, ".codex")
		return []string{program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", o.Prompt},
			[]string{"CODEX_HOME=" + home, "SCRIPTED_KEY=dummy"}, write(o, ".codex/config.toml", config)
	}
}

func setupOpencode(provider string) func(Drive) (argv, env []string, err error) {
	return func(o Drive) ([]string, []string, error) {
		config, err := json.Marshal(object{
			"provider": object{"scripted": object{
				"npm": provider, "options": object{"baseURL": o.Base + "/v1", "apiKey": "dummy"},
				"models": object{"scripted": object{"limit": object{"context": o.Window, "output": 8000}}},
			}},
			"model": "scripted/scripted", "permission": "allow", "autoupdate": false, "share": "disabled",
		})
		if err != nil {
			return nil, nil, err
		}
		program := first(o.Dir, "node_modules/opencode-linux-*/bin/opencode")
		return []string{program, "run", o.Prompt}, []string{
			"XDG_CONFIG_HOME=" + filepath.Join(o.Home, ".config"), "XDG_DATA_HOME=" + filepath.Join(o.Home, ".data"),
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		}, write(o, ".config/opencode/opencode.json", string(config))
	}
}

func setupGemini(model string) func(Drive) (argv, env []string, err error) {
	return func(o Drive) ([]string, []string, error) {
		settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},
"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"tools":{"truncateToolOutputThreshold":1000000}}`
		program := filepath.Join(o.Dir, "node_modules/.bin/gemini")
		return []string{program, "--yolo", "--skip-trust", "-m", model, "-p", o.Prompt},
			[]string{"GOOGLE_GEMINI_BASE_URL=" + o.Base, "GEMINI_API_KEY=dummy"}, write(o, ".gemini/settings.json", settings)
	}
}

//go:embed sdk.mjs
var sdkProgram string

// setupSDK runs a small agent written with the vendor's own JavaScript library.
func setupSDK(wire string) func(Drive) (argv, env []string, err error) {
	return func(o Drive) ([]string, []string, error) {
		name := "sdk.mjs"
		if o.Home == "" { // only asked whether it is there
			if _, err := os.Stat(filepath.Join(o.Dir, "node_modules/openai")); err != nil {
				return nil, nil, err
			}
		}
		// Modules are looked up beside the program, so it links the folder they are in.
		if o.Home != "" {
			if err := os.Symlink(filepath.Join(o.Dir, "node_modules"), filepath.Join(o.Home, "node_modules")); err != nil {
				return nil, nil, err
			}
		}
		return []string{"node", filepath.Join(o.Home, name), wire, o.Base, o.Prompt}, nil, write(o, name, sdkProgram)
	}
}

func write(o Drive, name, text string) error {
	if o.Home == "" {
		return nil
	}
	file := filepath.Join(o.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.TrimLeft(text, "\n")), 0o600)
}
