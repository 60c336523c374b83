package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstream"
)

// TestWrapClients runs real clients by "pleat wrap", each with its built-in providers and
// keys, past a small window: all of their requests come through the proxy.
func TestWrapClients(t *testing.T) {
	dir := os.Getenv("PLEAT_CLIENTS")
	if dir == "" {
		t.Skip("PLEAT_CLIENTS names no folder with the clients' npm packages; .ci/clients installs them")
	}
	for _, tt := range []struct {
		client string // of upstream.Clients
		name   string // as it is called
		args   []string
		env    map[string]string
	}{
		{
			client: "claude", name: "claude", args: []string{"-p", "Work.", "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"},
			env: map[string]string{"ANTHROPIC_API_KEY": wrapKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
		},
		{
			client: "codex", name: "codex", args: []string{
				"-c", "features.plugins=false", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false",
				"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Work.",
			},
		},
		{
			client: "opencode-messages", name: "opencode", args: []string{"run", "-m", "anthropic/claude-sonnet-4-5", "Work."},
			env: map[string]string{
				"ANTHROPIC_API_KEY": wrapKey, "OPENCODE_CONFIG_CONTENT": `{"permission":"allow","autoupdate":false,"share":"disabled"}`,
				"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
			},
		},
		{
			client: "gemini", name: "gemini", args: []string{"--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", "Work."},
			env: map[string]string{"GEMINI_API_KEY": wrapKey},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := upstream.Clients[slices.IndexFunc(upstream.Clients, func(c upstream.Client) bool { return c.Name == tt.client })]
			if !c.Installed(dir) {
				t.Skipf("%s is not installed in the folder", tt.name)
			}
			home := wrapHome(t, tt.name, c.Program(dir))
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			s := newUpstream(upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 8})
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			var out, errs bytes.Buffer
			p := &program{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv}
			args := []string{"wrap", "--store", filepath.Join(home, "pleat.db"), "--window", "60k", "--upstream-anthropic", server.URL, "--upstream-openai", server.URL, "--upstream-gemini", server.URL, tt.name, "--"}
			if code := p.run(t.Context(), append(args, tt.args...)); code != 0 {
				t.Fatalf("exit code %d:\n%s%s", code, tail(out.String(), 2000), tail(errs.String(), 2000))
			}
			if !strings.Contains(out.String(), "All 10 steps are done") {
				t.Errorf("the client says:\n%s", tail(out.String(), 2000))
			}
			if !strings.Contains(errs.String(), "went out; what was folded is in the store") {
				t.Errorf("wrap does not say that it folded:\n%s", tail(errs.String(), 2000))
			}
			checkExchanges(t, s.Log(), 0, true)
			checkNoKey(t, home)
		})
	}
}

const wrapKey = "sk-ant-api03-hunter2hunter2hunter2"

// wrapHome makes a home for a client: its program is on the PATH, and nothing of the
// machine's settings is seen.
func wrapHome(t *testing.T, name, program string) string {
	home := t.TempDir()
	for _, folder := range []string{"bin", "work", ".codex", ".gemini"} {
		if err := os.Mkdir(filepath.Join(home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(home, "bin", name)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".codex/auth.json":      `{"auth_mode":"apikey","OPENAI_API_KEY":"` + wrapKey + `"}`,
		".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"tools":{"truncateToolOutputThreshold":1000000}}`,
	} {
		if err := os.WriteFile(filepath.Join(home, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	t.Setenv("CODEX_HOME", filepath.Join(home, ".codex"))
	t.Setenv("TMPDIR", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "")
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
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("hunter2hunter2")) {
			t.Errorf("%s holds the key", filepath.Base(name))
		}
	}
}
