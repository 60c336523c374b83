//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// asReader runs the program as somebody to whom permissions apply, which root is not.
func asReader(t *testing.T, dir string) func(args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	program := filepath.Join(dir, "pleat") // the test's binary is the program under this name
	in, err := os.Open(self)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	for d := dir; os.Getuid() == 0 && d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	return func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		cmd.Env = []string{"HOME=" + dir}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// A copy of a store is read where nothing can be written: the file, or its folder.
func TestReadOnlyCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	dir := t.TempDir()
	run := asReader(t, dir)
	for name, modes := range map[string][2]os.FileMode{
		"file": {0o444, 0o777}, "folder": {0o644, 0o555},
		"both": {0o444, 0o555},
	} {
		folder := filepath.Join(dir, name)
		store := filepath.Join(folder, "pleat.db")
		must(t, os.Mkdir(folder, 0o755))
		fillTest(t, store)
		before, err := os.ReadFile(store)
		must(t, err)
		must(t, os.Chmod(store, modes[0]))
		must(t, os.Chmod(folder, modes[1]))
		t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
		for command, want := range map[string]string{
			"store verify": "2 sessions", "store list": "work", "store export work": `"pleat":"export"`,
			"store export --all":   `"pleat":"export"`,
			"store gc --name work": "work", "search legacy": "work", "ledger work": "work",
		} {
			out, err := run(append(strings.Fields(command), "--store", store)...)
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s is read-only: %s: %v\n%s", name, command, err, out)
			}
		}
		if after, err := os.ReadFile(store); err != nil || string(after) != string(before) {
			t.Errorf("%s is read-only: the store was changed (%v)", name, err)
		}
	}
}

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
			errs := []error{edit.proxied(t.Context(), p, c, "http://127.0.0.1:1"), edit.inside(t.Context(), p, c)}
			if all := errors.Join(errs...); all == nil || !strings.Contains(all.Error(), path+": it is not a regular file") {
				t.Errorf("%s: %v", name, all)
			}
			if c.IsInside("pleat", p.Getenv) {
				t.Errorf("%s: it has no hook", name)
			}
		}
	}
}

// The first signal ends a command that waits for a pipe to be opened or written to.
func TestSignalEndsWaiting(t *testing.T) {
	dir := t.TempDir()
	pipe, used := filepath.Join(dir, "pipe"), filepath.Join(dir, "used")
	for _, name := range []string{pipe, used} {
		must(t, syscall.Mkfifo(name, 0o600))
	}
	writer, err := os.OpenFile(used, os.O_RDWR, 0)
	must(t, err)
	defer writer.Close()
	store := filepath.Join(dir, "pleat.db")
	for _, args := range [][]string{
		{"show", pipe},
		{"show", used},
		{"show", "-"},
		{"compact", "--store", store, pipe},
		{"store", "import", "--store", store, used},
		{"store", "import", "--store", store, "-"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var told bytes.Buffer
		p := &term.Console{Stdin: writer, Stdout: &told, Stderr: &told, Getenv: func(string) string { return "" }}
		code := make(chan int)
		go func() { code <- execute(ctx, p, args) }()
		cancel()
		select {
		case got := <-code:
			if got != 130 {
				t.Errorf("%v: code %d, %s", args, got, told.String())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v: it still waits", args)
		}
	}
}
