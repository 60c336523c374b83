package main

import (
	"strings"
	"testing"
)

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
