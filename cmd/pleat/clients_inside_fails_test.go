package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// insideFails are programs that stand where pleat was when the client was set up.
var insideFails = map[string]string{
	"missing": "",
	"killed":  "#!/bin/sh\nkill -9 $$\n",
	"refuses": "#!/bin/sh\necho no >&2\nexit 2\n",
	"babbles": "#!/bin/sh\necho '{\"hookSpecificOutput\": 7'\n",
	"hangs":   "#!/bin/sh\nexec sleep 30\n",
}

// TestClientsInsideFails drives real clients whose hooks fail in all ways: they compact and go
// on as without pleat.
func TestClientsInsideFails(t *testing.T) {
	dir := clientsFolder(t, runtime.GOOS == "windows")
	for client, agent := range insideClients {
		for how, program := range insideFails {
			if agent == "opencode" && (testing.Short() || how != "hangs" && how != "missing") {
				continue // it takes half a minute each time
			}
			t.Run(client+"/"+how, func(t *testing.T) {
				t.Parallel()
				r := newInside(t, dir, client, 24)
				r.setup(t, agent)
				r.replace(t, program)
				r.done(t, insideFirst+" "+upstreamtest.GoOn)
			})
		}
	}
}

// done runs the client once, until all steps are done.
func (r *inside) done(t *testing.T, prompt string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r.drivenBy.Prompt = prompt
	out, err := r.Run(ctx, r.drivenBy)
	if err != nil || !strings.Contains(out, "steps are done") && !strings.Contains(out, "I wait") {
		t.Errorf("the client's last words: %v\n%s", err, tail(out, 2000))
	}
	compacted := false
	for i, x := range r.server.Log() {
		compacted = compacted || x.Compacted
		if x.Status != 200 || len(x.Violations) > 0 {
			t.Errorf("request %d: status %d, %v", i, x.Status, x.Violations)
		}
	}
	if !compacted {
		t.Error("the client did not compact")
	}
}

// replace puts another program in pleat's place: no program if the text is empty.
func (r *inside) replace(t *testing.T, program string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "other")
	if program != "" {
		must(t, os.WriteFile(name, []byte(program), 0o700))
	}
	found := false
	for _, config := range []string{
		".claude/settings.json", ".codex/hooks.json", ".pi/agent/extensions/pleat.js",
		".config/opencode/plugins/pleat.js",
	} {
		path := filepath.Join(r.drivenBy.Home, filepath.FromSlash(config))
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		was := pleatProgram(t)
		found = strings.Contains(string(text), was)
		quick := strings.NewReplacer(was, name, `"timeout": 10`, `"timeout": 1`, "timeout: 10000", "timeout: 1000")
		writeTest(t, path, []byte(quick.Replace(string(text))))
	}
	if !found {
		t.Fatal("the client has no configuration")
	}
}

// pleatProgram is this program, as it is written into configurations.
func pleatProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("pleat")
	must(t, err)
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	return path
}
