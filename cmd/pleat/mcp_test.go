package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// TestMCPStops: the server ends while the standing stream of a client is open.
func TestMCPStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	home := t.TempDir()
	notes, stderr := io.Pipe()
	p := &term.Console{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Getenv: func(name string) string {
		if name == "HOME" || name == "USERPROFILE" {
			return home
		}
		return ""
	}}
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, p, []string{"mcp", "--http", "127.0.0.1:0"})
		stderr.Close()
	}()
	lines := bufio.NewScanner(notes)
	if !lines.Scan() {
		t.Fatal("it says nothing")
	}
	_, address, _ := strings.Cut(lines.Text(), "listening on ")
	go io.Copy(io.Discard, notes)
	ask := func(method, body, session string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", session)
		if session == "" {
			r.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode >= 300 {
			t.Fatalf("%s: %s", method, resp.Status)
		}
		return resp
	}
	resp := ask("POST",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "")
	_, _ = io.Copy(io.Discard, resp.Body)
	session := resp.Header.Get("Mcp-Session-Id")
	ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	ask("GET", "", session)
	stop()
	if got := <-code; got != 0 {
		t.Errorf("it ends with %d", got)
	}
}

// The programs that "go run", npx, uvx and "pipx run" delete are told from installed ones.
func TestTemporary(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build2304/b001/exe/pleat":                                    true,
		"/home/u/.cache/go-build/ab/" + strings.Repeat("0f", 32) + "-d/pleat": true,
		"/home/u/.npm/_npx/9a/node_modules/pleat-cli-linux-x64/bin/pleat":     true,
		"/home/u/.cache/uv/archive-v0/x7/bin/pleat":                           true,
		"C:/Users/u/AppData/Local/uv/cache/archive-v0/x7/Scripts/pleat.exe":   true,
		"/home/u/.cache/pipx/9a/bin/pleat":                                    true,
		"/home/u/.local/share/pipx/venvs/pleat-cli/bin/pleat":                 false,
		"/usr/lib/node_modules/pleat-cli-linux-x64/bin/pleat":                 false,
		"/tmp/go-build2304/b001/pleat.test":                                   false,
		"/home/u/go/bin/pleat":                                                false,
		"/home/u/exe/pleat":                                                   false,
	} {
		if got := temporary.MatchString(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
