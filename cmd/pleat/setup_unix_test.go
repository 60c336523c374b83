//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// A pipe in the place of an agent's settings, or of a file beside them, is refused: nobody waits for
// what will never come.
func TestSetupRefusesPipes(t *testing.T) {
	for agent, names := range map[string][]string{
		"claude": {".claude/settings.json"},
		"codex":  {".codex/config.toml", ".codex/auth.json", ".codex/hooks.json"},
		"gemini": {".gemini/.env", ".gemini/settings.json"},
		"qwen":   {".qwen/.env", ".qwen/settings.json"},
	} {
		c, err := clients.Find(agent)
		must(t, err)
		for _, name := range names {
			home := t.TempDir()
			path := filepath.Join(home, name)
			must(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)))
			p := &term.Console{Stdout: t.Output(), Stderr: t.Output(), Getenv: func(name string) string {
				return map[string]string{"HOME": home}[name]
			}}
			edit := editFlags{show: true}
			errs := []error{
				edit.proxied(t.Context(), p, c, "http://127.0.0.1:1"),
				edit.inside(t.Context(), p, c),
			}
			if all := errors.Join(errs...); all == nil || !strings.Contains(all.Error(), path+": it is not a regular file") {
				t.Errorf("%s: %v", name, all)
			}
			if c.IsInside("pleat", p.Getenv) {
				t.Errorf("%s: it has no hook", name)
			}
		}
	}
}
