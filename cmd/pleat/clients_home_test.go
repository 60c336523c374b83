package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type object = map[string]any

func setupClaude(c realClient, o clientRun) (argv, env []string, err error) {
	program := firstOf(o.Dir, "node_modules/@anthropic-ai/claude-code-*/claude")
	allowed := "Bash,Agent,Task"
	if o.Server != "" {
		allowed += ",ToolSearch,mcp__" + o.Server
	}
	argv = []string{program, "-p", o.Prompt, "--allowedTools", allowed, "--model", c.Model}
	return o.going(argv, "--continue"), []string{
		"ANTHROPIC_BASE_URL=" + o.Base, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		fmt.Sprintf("CLAUDE_CODE_AUTO_COMPACT_WINDOW=%d", o.Window),
	}, nil
}

func setupCodex(c realClient, o clientRun) (argv, env []string, err error) {
	model := c.how
	if o.Server != "" {
		model = `model = "scripted"` // models that it knows have to search for tools
	}
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
`, model, o.Window, o.Base) + o.Config
	program := firstOf(o.Dir, "node_modules/@openai/codex-*/vendor/*/bin/codex")
	home := filepath.Join(o.Home, ".codex")
	argv = []string{program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
	if o.Hooks {
		argv = append(argv, "--dangerously-bypass-hook-trust")
	}
	env = []string{"CODEX_HOME=" + home, "SCRIPTED_KEY=" + o.Key}
	return append(o.going(argv, "resume", "--last"), o.Prompt), env, writeHome(o, ".codex/config.toml", config)
}

func setupOpencode(c realClient, o clientRun) (argv, env []string, err error) {
	config := object{
		"provider": object{"scripted": object{
			"npm": "@ai-sdk/" + c.how, "options": object{"baseURL": o.Base + "/v1", "apiKey": o.Key},
			"models": object{"scripted": object{"limit": object{"context": o.Window, "output": 8000}}},
		}},
		"model": "scripted/scripted", "permission": "allow", "autoupdate": false, "share": "disabled",
	}
	program := firstOf(o.Dir, "node_modules/opencode-linux-*/bin/opencode")
	return o.going([]string{program, "run", o.Prompt}, "--continue"), []string{
		"XDG_CONFIG_HOME=" + filepath.Join(o.Home, ".config"), "XDG_DATA_HOME=" + filepath.Join(o.Home, ".data"),
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	}, writeHome(o, ".config/opencode/opencode.json", config)
}

func setupGemini(c realClient, o clientRun) (argv, env []string, err error) {
	settings := fmt.Sprintf(`{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},
"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"tools":{"truncateToolOutputThreshold":1000000},"model":{"compressionThreshold":%f}}`, float64(o.Window)/(1<<20))
	program := filepath.Join(o.Dir, "node_modules/.bin/gemini")
	argv = []string{program, "--yolo", "--skip-trust", "-m", c.Model, "-p", o.Prompt}
	env = []string{"GOOGLE_GEMINI_BASE_URL=" + o.Base, "GEMINI_API_KEY=dummy"}
	return o.going(argv, "--resume", "latest"), env, writeHome(o, ".gemini/settings.json", settings)
}

// setupPi needs a newer Node than clients of its kind, which comes as a package too.
func setupPi(c realClient, o clientRun) (argv, env []string, err error) {
	base := o.Base
	if c.how != "anthropic-messages" {
		base += "/v1"
	}
	config := object{"providers": object{"scripted": object{
		"baseUrl": base, "api": c.how, "apiKey": o.Key,
		"models": []object{{"id": c.Model, "contextWindow": o.Window, "maxTokens": 8000}},
	}}}
	argv = []string{
		firstOf(o.Dir, "node_modules/node-linux-*/bin/node"), filepath.Join(o.Dir, "node_modules/.bin/pi"),
		"--offline", "--provider", "scripted", "--model", c.Model, "-p", o.Prompt,
	}
	return o.going(argv, "--continue"), []string{"PI_OFFLINE=1"}, writeHome(o, ".pi/agent/models.json", config)
}

func setupQwen(_ realClient, o clientRun) (argv, env []string, err error) {
	settings := fmt.Sprintf(`{"security":{"auth":{"selectedType":"openai"}},"general":{"enableAutoUpdate":false,"disableAutoUpdate":true},
"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"tools":{"truncateToolOutputThreshold":1000000,"truncateToolOutputLines":100000},
"model":{"name":"scripted","generationConfig":{"contextWindowSize":%d}}}`, o.Window)
	if o.Config != "" { // an object, to which the rest is added
		settings = strings.TrimSuffix(strings.TrimSpace(o.Config), "}") + "," + strings.TrimPrefix(settings, "{")
	}
	argv = []string{filepath.Join(o.Dir, "node_modules/.bin/qwen"), "--yolo", "-p", o.Prompt}
	env = []string{"OPENAI_BASE_URL=" + o.Base + "/v1", "OPENAI_API_KEY=" + o.Key, "OPENAI_MODEL=scripted"}
	return o.going(argv, "--continue"), env, writeHome(o, ".qwen/settings.json", settings)
}

func setupCline(_ realClient, o clientRun) (argv, env []string, err error) {
	settings := object{
		"version": 1, "lastUsedProvider": "openai-compatible", "modes": object{},
		"providers": object{
			"openai-compatible": object{"settings": object{
				"provider": "openai-compatible", "apiKey": o.Key, "model": "scripted", "baseUrl": o.Base + "/v1",
			}, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"},
		},
	}
	program := filepath.Join(o.Dir, "node_modules/.bin/cline")
	argv = []string{program, "--json", "-k", o.Key, "-P", "openai-compatible", "-m", "scripted", o.Prompt}
	env = []string{"CLINE_SESSION_BACKEND_MODE=local"} // by itself it leaves a server behind
	return argv, env, writeHome(o, ".cline/data/settings/providers.json", settings)
}

//go:embed testdata/clients/sdk.mjs
var sdkProgram string

// setupSDK runs a small agent written with the vendor's own JavaScript library.
func setupSDK(c realClient, o clientRun) (argv, env []string, err error) {
	name := "sdk.mjs"
	if o.Home == "" { // only asked whether it is there
		if _, err := os.Stat(filepath.Join(o.Dir, "node_modules/openai")); err != nil {
			return nil, nil, err
		}
	}
	// Modules are looked up beside the program, so it links the folder they are in.
	if o.Home != "" {
		err := os.Symlink(filepath.Join(o.Dir, "node_modules"), filepath.Join(o.Home, "node_modules"))
		if err != nil && !os.IsExist(err) {
			return nil, nil, err
		}
	}
	argv = []string{"node", filepath.Join(o.Home, name), c.how, o.Base, o.Prompt, o.Key, strconv.Itoa(o.Others)}
	return argv, nil, writeHome(o, name, sdkProgram)
}

// writeHome writes a file in the client's home: a text, or anything else as JSON.
func writeHome(o clientRun, name string, v any) error {
	if o.Home == "" {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		text = string(b)
	}
	file := filepath.Join(o.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.TrimLeft(text, "\n")), 0o600)
}
