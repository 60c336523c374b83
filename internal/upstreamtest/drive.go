package upstreamtest

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Client is a real program that talks to model servers, as it comes from the npm
// registry. The file clients.txt lists the packages with the versions that were tried;
// their install scripts are not needed.
type Client struct {
	Name  string
	Model string // that it is told to ask for
	Can   Can
	Whole bool // it is driven through all scenarios, not only through those in which models and wires matter
	// setup prepares a home folder for talking to the server at base and returns the
	// command that runs a prompt, and what it needs in its environment.
	setup func(c Client, o Drive) (argv, env []string, err error)
	how   string // the wire or library it talks by, or what else setup needs
}

// Drive says how a client is run.
type Drive struct {
	Dir    string // folder with the node_modules that the packages were installed into
	Home   string // an empty folder that becomes the client's home
	Base   string // URL of the server or proxy, without a path
	Window int    // what the client is told about the model's window
	Prompt string
	Key    string // empty: one that no provider has
	Others int    // requests on each other path that an SDK sends before it works

	// Server is an MCP server whose tools the client may use.
	// Claude Code finds it in its home, Codex in Config, the end of its configuration. Qwen Code's
	// configuration begins with Config.
	Server, Config string

	Continue bool // the conversation that the client had last in this home goes on
	Hooks    bool // the hooks in its configuration run; Codex asks a person first
}

// Can says what a client does besides talking and running commands.
type Can int

// What a client can do.
const (
	Continue Can = 1 << iota // go on with a conversation after a restart
	Compact                  // compact by itself, by the usage that the server reports
	Recount                  // compact by itself, by its own count of what it has
	Agent                    // start a sub-agent
	Think                    // keep the model's thinking
	Retry                    // go on after an answer that broke off
	OpenAI                   // talk to any server that speaks as OpenAI's
	Others                   // send what is no part of a conversation
	Unpack                   // read what is compressed with Brotli
	Stop                     // keep what was done before it was interrupted
	Twice                    // send every result twice when it goes on, which is illegal
	Clear                    // write over old results by itself
)

// Clients are the programs that can be driven.
var Clients = []Client{
	{"claude", "sonnet", Continue | Compact | Stop | Agent | Retry | Think | Unpack, true, setupClaude, ""},
	// Its reminders are texts of the user.
	{"claude-4-5", "claude-sonnet-4-5", Continue | Compact | Agent | Retry | Think, false, setupClaude, ""},
	{"claude-opus", "opus", Continue | Compact | Agent | Retry | Think, false, setupClaude, ""},
	{"claude-haiku", "haiku", Continue | Compact | Agent | Retry | Think, false, setupClaude, ""},
	{"claude-fable", "fable", Continue | Compact | Agent | Retry | Think, false, setupClaude, ""},
	{"codex", "gpt-5.5", Continue | Compact | Stop | Retry | OpenAI, true, setupCodex, `model = "gpt-5.5"`},
	// Whose tools stand in the input.
	{"codex-default", "its newest", Continue | Compact | Retry, false, setupCodex, ""},
	{
		"opencode-messages", "scripted", Continue | Compact | Stop | Agent | Retry | Unpack, true,
		setupOpencode, "anthropic",
	},
	{
		"opencode-chat", "scripted", Continue | Compact | Agent | Retry | OpenAI, false,
		setupOpencode, "openai-compatible",
	},
	{"opencode-responses", "scripted", Continue | Compact | Agent | Retry | OpenAI, false, setupOpencode, "openai"},
	{"gemini", "gemini-3.1-pro-preview", Continue | Retry | Unpack | Twice | Clear, true, setupGemini, ""},
	{"gemini-flash", "gemini-3-flash-preview", Continue | Retry | Twice, false, setupGemini, ""},
	// Its calls have neither ids nor signatures.
	{"gemini-no-ids", "gemini-2.5-pro", Continue | Retry | Twice, false, setupGemini, ""},
	{
		"pi-messages", "claude-sonnet-5-5", Continue | Compact | Stop | Retry | Unpack, true,
		setupPi, "anthropic-messages",
	},
	{"pi-chat", "gpt-5.5", Continue | Compact | Retry | OpenAI, false, setupPi, "openai-completions"},
	{"pi-responses", "gpt-5.5", Continue | Compact | Retry | OpenAI, false, setupPi, "openai-responses"},
	{"qwen", "scripted", Continue | Compact | Stop | Agent | Retry | OpenAI | Clear, true, setupQwen, ""},
	{"cline", "scripted", Recount | Retry | OpenAI, true, setupCline, ""},
	{"sdk-messages", "claude-sonnet-4-5", Others | Unpack, true, setupSDK, "messages"},
	{"sdk-chat", "gpt-5.5", Others | Unpack | OpenAI, false, setupSDK, "chat"},
	{"sdk-responses", "gpt-5.5", Unpack | OpenAI, false, setupSDK, "responses"},
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
	argv, _, err := c.setup(c, Drive{Dir: dir})
	if err != nil {
		return ""
	}
	return argv[0]
}

// Run runs the client on a prompt, without a terminal and with nothing of the caller's
// environment but PATH, and returns what it printed. When the context ends it is interrupted,
// as by a user, and killed if it does not end then.
func (c Client) Run(ctx context.Context, o Drive) (string, error) {
	work := filepath.Join(o.Home, "work")
	o.Key = cmp.Or(o.Key, "dummy")
	err := os.MkdirAll(work, 0o700)
	argv, env, serr := c.setup(c, o)
	if err := errors.Join(err, serr); err != nil {
		return "", fmt.Errorf("drive %s: %w", c.Name, err)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = work
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Home, "TMPDIR=" + o.Home}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("drive %s: %w", c.Name, err)
	}
	return string(out), nil
}

// going adds flags with which the client goes on with its last conversation, if it shall.
func (o Drive) going(argv []string, flags ...string) []string {
	if o.Continue {
		return append(argv, flags...)
	}
	return argv
}

func first(pattern ...string) string {
	found, _ := filepath.Glob(filepath.Join(pattern...))
	if len(found) == 0 {
		return filepath.Join(pattern...)
	}
	return found[0]
}
