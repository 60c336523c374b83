package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// realClient is a real program that talks to model servers, as it comes from the npm
// registry. The file testdata/clients/packages.txt lists the packages with the versions that were tried;
// their install scripts are not needed.
type realClient struct {
	Name  string
	Model string // that it is told to ask for
	Can   can
	Whole bool // it is driven through all scenarios, not only through those in which models and wires matter
	// setup prepares a home folder for talking to the server at base and returns the
	// command that runs a prompt, and what it needs in its environment.
	setup func(c realClient, o clientRun) (argv, env []string, err error)
	how   string // the wire or library it talks by, or what else setup needs
}

// clientRun says how a client is run.
type clientRun struct {
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

// can says what a client does besides talking and running commands.
type can int

// What a client can do.
const (
	canContinue can = 1 << iota // go on with a conversation after a restart
	canCompact                  // compact by itself, by the usage that the server reports
	canRecount                  // compact by itself, by its own count of what it has
	canAgent                    // start a sub-agent
	canThink                    // keep the model's thinking
	canRetry                    // go on after an answer that broke off
	canOpenAI                   // talk to any server that speaks as OpenAI's
	canOthers                   // send what is no part of a conversation
	canUnpack                   // read what is compressed with Brotli
	canStop                     // keep what was done before it was interrupted
	canTwice                    // send every result twice when it goes on, which is illegal
	canClear                    // write over old results by itself
)

// realClients are the programs that can be driven.
var realClients = []realClient{
	{"claude", "sonnet", canContinue | canCompact | canStop | canAgent | canRetry | canThink | canUnpack, true, setupClaude, ""},
	// Its reminders are texts of the user.
	{"claude-4-5", "claude-sonnet-4-5", canContinue | canCompact | canAgent | canRetry | canThink, false, setupClaude, ""},
	{"claude-opus", "opus", canContinue | canCompact | canAgent | canRetry | canThink, false, setupClaude, ""},
	{"claude-haiku", "haiku", canContinue | canCompact | canAgent | canRetry | canThink, false, setupClaude, ""},
	{"claude-fable", "fable", canContinue | canCompact | canAgent | canRetry | canThink, false, setupClaude, ""},
	{"codex", "gpt-5.5", canContinue | canCompact | canStop | canRetry | canOpenAI, true, setupCodex, `model = "gpt-5.5"`},
	// Whose tools stand in the input.
	{"codex-default", "its newest", canContinue | canCompact | canRetry, false, setupCodex, ""},
	{
		"opencode-messages", "scripted", canContinue | canCompact | canStop | canAgent | canRetry | canUnpack, true,
		setupOpencode, "anthropic",
	},
	{
		"opencode-chat", "scripted", canContinue | canCompact | canAgent | canRetry | canOpenAI, false,
		setupOpencode, "openai-compatible",
	},
	{"opencode-responses", "scripted", canContinue | canCompact | canAgent | canRetry | canOpenAI, false, setupOpencode, "openai"},
	{"gemini", "gemini-3.1-pro-preview", canContinue | canRetry | canUnpack | canTwice | canClear, true, setupGemini, ""},
	{"gemini-flash", "gemini-3-flash-preview", canContinue | canRetry | canTwice, false, setupGemini, ""},
	// Its calls have neither ids nor signatures.
	{"gemini-no-ids", "gemini-2.5-pro", canContinue | canRetry | canTwice, false, setupGemini, ""},
	{
		"pi-messages", "claude-sonnet-5-5", canContinue | canCompact | canStop | canRetry | canUnpack, true,
		setupPi, "anthropic-messages",
	},
	{"pi-chat", "gpt-5.5", canContinue | canCompact | canRetry | canOpenAI, false, setupPi, "openai-completions"},
	{"pi-responses", "gpt-5.5", canContinue | canCompact | canRetry | canOpenAI, false, setupPi, "openai-responses"},
	{"qwen", "scripted", canContinue | canCompact | canStop | canAgent | canRetry | canOpenAI | canClear, true, setupQwen, ""},
	{"cline", "scripted", canRecount | canRetry | canOpenAI, true, setupCline, ""},
	{"sdk-messages", "claude-sonnet-4-5", canOthers | canUnpack, true, setupSDK, "messages"},
	{"sdk-chat", "gpt-5.5", canOthers | canUnpack | canOpenAI, false, setupSDK, "chat"},
	{"sdk-responses", "gpt-5.5", canUnpack | canOpenAI, false, setupSDK, "responses"},
}

//go:embed testdata/clients/packages.txt
var clientPackages string

// clientIn is the client of that name; where the folder does not have it, the test is skipped.
func clientIn(t *testing.T, dir, name string) realClient {
	c := realClients[slices.IndexFunc(realClients, func(c realClient) bool { return c.Name == name })]
	if _, err := exec.LookPath(c.Program(dir)); err != nil {
		t.Skipf("%s is not installed in the folder", name)
	}
	return c
}

// Program is where the client's program is in the folder, if it is there.
func (c realClient) Program(dir string) string {
	argv, _, err := c.setup(c, clientRun{Dir: dir})
	if err != nil {
		return ""
	}
	return argv[0]
}

// Run runs the client on a prompt, without a terminal and with nothing of the caller's
// environment but PATH, and returns what it printed. When the context ends it is interrupted,
// as by a user, and killed if it does not end then.
func (c realClient) Run(ctx context.Context, o clientRun) (string, error) {
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
func (o clientRun) going(argv []string, flags ...string) []string {
	if o.Continue {
		return append(argv, flags...)
	}
	return argv
}

func firstOf(pattern ...string) string {
	found, _ := filepath.Glob(filepath.Join(pattern...))
	if len(found) == 0 {
		return filepath.Join(pattern...)
	}
	return found[0]
}
