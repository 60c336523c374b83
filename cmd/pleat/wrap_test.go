package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// wrapped is a client with its built-in providers and keys, as a person would start it.
type wrapped struct {
	client string // of realClients
	name   string // as it is called
	args   []string
	env    map[string]string
	files  map[string]string // in its home
}

var wrappedClients = map[string]wrapped{
	"claude": {
		client: "claude", name: "claude", args: []string{
			"-p", "Work.", "--allowedTools", "Bash", "--model", "claude-sonnet-4-5",
		},
		env: map[string]string{
			"ANTHROPIC_API_KEY": wrapKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_AUTOUPDATER": "1",
		},
	},
	"codex": {
		client: "codex", name: "codex", args: codexWork,
		files: map[string]string{".codex/auth.json": `{"auth_mode":"apikey","OPENAI_API_KEY":"` + wrapKey + `"}`},
	},
	"opencode": {
		client: "opencode-messages", name: "opencode",
		args: []string{"run", "-m", "anthropic/claude-sonnet-4-5", "Work."},
		env: map[string]string{
			"ANTHROPIC_API_KEY":                wrapKey,
			"OPENCODE_CONFIG_CONTENT":          `{"permission":"allow","autoupdate":false,"share":"disabled"}`,
			"OPENCODE_DISABLE_AUTOUPDATE":      "1",
			"OPENCODE_DISABLE_MODELS_FETCH":    "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD":    "1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
		},
	},
	"pi": {
		client: "pi-messages", name: "pi", args: []string{
			"--offline", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", "Work.",
		},
		env: map[string]string{"ANTHROPIC_API_KEY": wrapKey, "PI_OFFLINE": "1"},
	},
	"gemini": {
		client: "gemini", name: "gemini",
		args:  []string{"--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", "Work."},
		env:   map[string]string{"GEMINI_API_KEY": wrapKey},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"tools":{"truncateToolOutputThreshold":1000000}}`},
	},
}

var codexWork = []string{
	"-c", "features.plugins=false", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false",
	"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Work.",
}

// eachWrapped calls f for each client that is installed, or only for one, in a home of its own.
func eachWrapped(t *testing.T, only string, f func(t *testing.T, w wrapped, s *upstreamtest.Server, home string)) {
	dir := clientsFolder(t, false)
	for _, name := range slices.Sorted(maps.Keys(wrappedClients)) {
		w := wrappedClients[name]
		if only != "" && name != only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			program := clientIn(t, dir, w.client).Program(dir)
			if w.name == "pi" { // this is the Node that it needs
				program = script(t,
					fmt.Sprintf("exec %q %q \"$@\"", program, filepath.Join(dir, "node_modules/.bin/pi")))
			}
			home := wrapHome(t, w, program)
			for name, value := range w.env {
				t.Setenv(name, value)
			}
			f(t, w, newUpstream(upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 8}), home)
		})
	}
}

func script(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

// TestWrapClients runs real clients by "pleat wrap" past a small window: all of their requests
// come through the proxy, and none through the web proxy of the environment.
func TestWrapClients(t *testing.T) {
	eachWrapped(t, "", func(t *testing.T, w wrapped, s *upstreamtest.Server, home string) {
		t.Setenv("HTTP_PROXY", noServer)
		t.Setenv("HTTPS_PROXY", noServer)
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		var out, errs bytes.Buffer
		p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: os.Getenv}
		args := []string{
			"wrap", "--store", filepath.Join(home, "pleat.db"), "--window", "60k", "--upstream-anthropic",
			server.URL, "--upstream-openai", server.URL, "--upstream-gemini", server.URL, w.name, "--",
		}
		if code := execute(t.Context(), p, append(args, w.args...)); code != 0 {
			t.Fatalf("exit code %d:\n%s%s", code, tail(out.String(), 2000), tail(errs.String(), 2000))
		}
		if !strings.Contains(out.String(), "All 10 steps are done") {
			t.Errorf("the client says:\n%s", tail(out.String(), 2000))
		}
		if !strings.Contains(errs.String(), "what was folded is in the store") {
			t.Errorf("wrap does not say that it folded:\n%s", tail(errs.String(), 2000))
		}
		checkExchanges(t, s.Log(), nil, 0, true)
		checkNoKey(t, home)
	})
}

// TestSetupClients points real clients to a running proxy by "pleat setup": all of their
// requests come through it, whatever web proxy there is, and afterwards their settings are as they were.
func TestSetupClients(t *testing.T) {
	if testing.Short() {
		t.Skip("TestWrapClients drives the same clients: not in short")
	}
	eachWrapped(t, "", func(t *testing.T, w wrapped, s *upstreamtest.Server, home string) {
		front := newProxies(t, drive{server: s, window: 60_000}, 1).all[0].url
		setup := func(args ...string) {
			var out bytes.Buffer
			p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: os.Getenv}
			if code := execute(t.Context(), p, append([]string{"setup", w.name, "--yes", "--url", front}, args...)); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, out.String())
			}
		}
		c, err := clients.Find(w.name)
		must(t, err)
		if c.Environ {
			t.Setenv("HTTPS_PROXY", noServer)
		}
		before, _ := os.ReadFile(c.Path(os.Getenv))
		setup()
		after, _ := os.ReadFile(c.Path(os.Getenv))
		out, err := exec.CommandContext(t.Context(), w.name, w.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "All 10 steps are done") {
			t.Errorf("%v: the client says:\n%s", err, tail(string(out), 2000))
		}
		checkExchanges(t, s.Log(), nil, 0, true)
		now, _ := os.ReadFile(c.Path(os.Getenv))
		changed := !bytes.Equal(now, after) // by the client
		setup("--undo")
		now, _ = os.ReadFile(c.Path(os.Getenv))
		if bytes.Contains(now, []byte(front)) || !changed && !bytes.Equal(now, before) {
			t.Errorf("after undo the file has\n%s\nwant\n%s", now, before)
		}
	})
}

const noServer = "http://127.0.0.1:1" // nothing listens there

const wrapKey = "sk-ant-api03-hunter2hunter2hunter2"

// wrapHome makes a home for a client: its program is on the PATH, and nothing of the
// machine's settings is seen.
func wrapHome(t *testing.T, w wrapped, program string) string {
	home := t.TempDir()
	for _, folder := range []string{"bin", "work", ".codex"} {
		must(t, os.Mkdir(filepath.Join(home, folder), 0o700))
	}
	must(t, os.Symlink(program, filepath.Join(home, "bin", w.name)))
	for name, text := range w.files {
		path := filepath.Join(home, filepath.FromSlash(name))
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	t.Setenv("PATH", filepath.Join(home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	t.Setenv("CODEX_HOME", filepath.Join(home, ".codex"))
	t.Setenv("TMPDIR", home)
	for _, name := range []string{
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL",
		"GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR",
		"PI_CODING_AGENT_DIR",
	} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil { // some clients take an empty one for set
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(home, "work"))
	return home
}

// checkNoKey fails if the key is anywhere in the store.
func checkNoKey(t *testing.T, home string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "pleat.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no store: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(t, err)
		if bytes.Contains(data, []byte("hunter2hunter2")) {
			t.Errorf("%s holds the key", filepath.Base(name))
		}
	}
}

var startBlock = regexp.MustCompile("(?s)```(python|ts)\n(.*?)```")

// TestStartClients runs the programs in docs/start.md, as they stand there, but with the
// address of a proxy of the test. Python is the one in the folder of the clients.
func TestStartClients(t *testing.T) {
	dir := clientsFolder(t, false)
	text, err := os.ReadFile("../../docs/start.md")
	must(t, err)
	blocks := startBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 5 {
		t.Fatalf("docs/start.md has %d programs, want 5", len(blocks))
	}
	for _, b := range blocks {
		first, _, _ := strings.Cut(b[2], "\n")
		t.Run(first, func(t *testing.T) {
			program, file := filepath.Join(dir, "python/bin/python"), "start.py"
			if b[1] == "ts" {
				program, file = "node", "start.mjs"
			} else if _, err := os.Stat(program); err != nil {
				t.Skip("there is no Python in the folder; .ci/clients makes one, unless it is short")
			}
			s := newUpstream(upstreamtest.Options{Calls: 0})
			front := newProxies(t, drive{server: s, window: 60_000}, 1).all[0].url
			home := t.TempDir()
			source := strings.ReplaceAll(b[2], "http://127.0.0.1:4141", front)
			writeTest(t, filepath.Join(home, file), []byte(source))
			must(t, os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(home, "node_modules")))
			cmd := exec.CommandContext(t.Context(), program, file)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=dummy", "OPENAI_API_KEY=dummy")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "as the user has asked") {
				t.Errorf("%v: it prints\n%s", err, tail(string(out), 2000))
			}
			if n := len(s.Log()); n != 1 {
				t.Errorf("the server saw %d requests, want 1", n)
			}
		})
	}
}
