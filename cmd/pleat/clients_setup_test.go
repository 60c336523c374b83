package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// gateways are ways in which clients are told of another server than their provider's, $URL.
var gateways = []struct {
	name, client string
	files        map[string]string
	env          map[string]string
	refused      string // why setup does nothing; empty: it does
}{
	{
		name: "its settings", client: "claude",
		files: map[string]string{".claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"$URL/corp"}}`},
	},
	{name: "the environment", client: "claude", env: map[string]string{"ANTHROPIC_BASE_URL": "$URL/corp"}},
	{
		name: "a provider", client: "codex", env: map[string]string{"CORP_KEY": "none"},
		files: map[string]string{".codex/config.toml": `model_provider = "corp"
[model_providers.corp]
name = "corp"
base_url = "$URL/corp/api/v3"
env_key = "CORP_KEY"
wire_api = "responses"
`},
	},
	{
		name: "its settings", client: "codex", files: map[string]string{
			".codex/config.toml": `openai_base_url = "$URL/corp/v1"`,
			".codex/auth.json":   `{"auth_mode":"apikey","OPENAI_API_KEY":"none"}`,
		},
	},
	{
		name: "a login", client: "codex", refused: "logged in with ChatGPT",
		files: map[string]string{".codex/auth.json": `{"auth_mode":"chatgpt","tokens":{"access_token":"x"}}`},
	},
	{
		name: "the environment", client: "gemini", env: map[string]string{"GOOGLE_GEMINI_BASE_URL": "$URL/corp"},
		refused: "unset",
	},
}

// TestSetupGatewayClients sets real clients up that ask another server than their provider's, and
// starts the proxy as setup says: all of their requests come through it, and reach that server.
func TestSetupGatewayClients(t *testing.T) {
	for _, g := range gateways {
		t.Run(g.client+"/"+g.name, func(t *testing.T) {
			eachWrapped(t, g.client, func(t *testing.T, w wrapped, s *upstreamtest.Server, home string) {
				mux := http.NewServeMux()
				mux.Handle("/corp/", s)
				server := httpServer(t, mux)
				for name, text := range g.files {
					path := filepath.Join(home, filepath.FromSlash(name))
					writeTest(t, path, []byte(strings.ReplaceAll(text, "$URL", server)))
				}
				for name, value := range g.env {
					t.Setenv(name, strings.ReplaceAll(value, "$URL", server))
				}
				front := httptest.NewUnstartedServer(nil) // for a free port
				front.Listener.Close()
				var out bytes.Buffer
				p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: os.Getenv}
				code := execute(t.Context(), p,
					[]string{"setup", w.name, "--yes", "--later", "--url", "http://" + front.Listener.Addr().String()})
				if g.refused != "" {
					if code == 0 || !strings.Contains(out.String(), g.refused) {
						t.Errorf("exit code %d:\n%s", code, out.String())
					}
					return
				}
				start := startLine.FindStringSubmatch(out.String())
				if code != 0 || start == nil {
					t.Fatalf("exit code %d:\n%s", code, out.String())
				}
				proxy := &proxies{t: t, args: append([]string{
					"proxy", "--quiet", "--store", filepath.Join(home, "pleat.db"), "--window", "60k",
				}, strings.Fields(start[1])...)}
				one := proxy.start()
				t.Cleanup(one.kill)
				said, err := exec.CommandContext(t.Context(), w.name, w.args...).CombinedOutput()
				if err != nil || !strings.Contains(string(said), "All 10 steps are done") {
					t.Errorf("%v: the client says:\n%s\nsetup said:\n%s", err, tail(string(said), 2000), out.String())
				}
				checkExchanges(t, s.Log(), nil, 0, true)
				for i, x := range s.Log() {
					if !x.Side && !x.Offered {
						t.Errorf("request %d did not come through the proxy", i)
					}
				}
			})
		})
	}
}

var startLine = regexp.MustCompile(`pleat proxy(?: start)?( .*|)\n`)

// TestClientsMCP sets real clients up with "pleat mcp install": they start the server, offer
// its tools to the model, call the one that the model asks for, and pass on its answer.
func TestClientsMCP(t *testing.T) {
	dir := clientsFolder(t, false)
	for name, config := range map[string]string{"claude": ".claude.json", "codex": ".codex/config.toml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clientIn(t, dir, name)
			home := t.TempDir()
			old := filepath.Join(home, ".claude", "projects", "p", "old.jsonl")
			writeTest(t, old, longSession(5))
			o := clientRun{
				Dir: dir, Home: home, Window: 100_000, Prompt: "Work through the steps.", Server: "pleat",
			}
			installed := installMCP(t, home, name, config)
			if name == "codex" {
				o.Config = installed
			}
			s := newUpstream(upstreamtest.Options{
				Calls: 6, Server: "pleat", Tool: "search",
				Input: `{"queries":["upload_limit_bytes"],"project":"/home/dev/shop"}`,
			})
			server := httptest.NewServer(s)
			defer server.Close()
			o.Base = server.URL
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			out, err := c.Run(ctx, o)
			if err != nil || !strings.Contains(out, "All 6 steps are done") {
				t.Errorf("%v: %q", err, tail(out, 2000))
			}
			served, found := "", false
			for i, x := range s.Log() {
				served, found = x.Served, x.Found
				if len(x.Violations) > 0 || x.Status != 200 {
					t.Errorf("request %d: %+v", i, x)
				}
			}
			if !strings.Contains(served, "upload_limit_bytes = 1048576") {
				t.Errorf("the server's answer is %q", served)
			}
			if found != (name == "claude") {
				t.Errorf("the tool was found by a search of the client's own: %v", found)
			}
		})
	}
}

// installMCP sets a client up and returns its configuration.
func installMCP(t *testing.T, home, client, config string) string {
	cmd := exec.CommandContext(t.Context(), "pleat", "mcp", "install", client, "--yes")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(config)))
	must(t, err)
	return string(data)
}
