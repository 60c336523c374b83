package main

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// TestClientsMCP sets real clients up with "pleat mcp install": they start the server, offer
// its tools to the model, call the one that the model asks for, and pass on its answer.
func TestClientsMCP(t *testing.T) {
	dir := clientsFolder(t, false)
	for name, config := range map[string]string{"claude": ".claude.json", "codex": ".codex/config.toml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := upstreamtest.Clients[slices.IndexFunc(upstreamtest.Clients,
				func(c upstreamtest.Client) bool { return c.Name == name })]
			if !c.Installed(dir) {
				t.Skipf("%s is not installed in the folder", c.Name)
			}
			home := t.TempDir()
			old := filepath.Join(home, ".claude", "projects", "p", "old.jsonl")
			writeTest(t, old, longSession(5))
			o := upstreamtest.Drive{
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
