package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

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
