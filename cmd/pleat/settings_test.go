package main

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Whatever a settings file holds, it is read or refused; one that was found in a project
// sets nothing but what cannot harm.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"budget = \"60%\"\n[compact]\no = \"/etc/passwd\"\n", "[run]\ndir = \"/\"\nmax-turns = 3\nallow = [\"bash(*)\", 1, " +
			"[2], {a = 3}]\n",
		"policy = \"default\"\njson = " +
			"true\n", "policy = [\"default\", " +
			"\"p.json\"]", "[proxy]\nwindow = 1e400", "window = " +
			"1979-05-27T07:32:00Z", "[[run]]\ntop = 1", "run = 1", "= \"", "\x00", "",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, settingsName)
	f.Fuzz(func(t *testing.T, data []byte) {
		t.Chdir(dir)
		writeTest(t, path, data)
		p := &term.Console{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		each(root(p), func(c *cobra.Command) {
			settings, err := settle(p, c)
			if err != nil {
				return
			}
			for _, s := range settings {
				if s.From != "default" && !slices.Contains(harmless, s.Name) {
					t.Errorf("%s: a project's file sets --%s to %q", c.Name(), s.Name, s.Value)
				}
			}
		})
	})
}

// No setting is printed with a password, however its address is written.
func TestShownValue(t *testing.T) {
	for value, want := range map[string]string{
		"/u:p@h/db": "/u:xxxxx@h/db", "u:p@h": "u:xxxxx@h", "u:p w@h": "u:xxxxx@h", "u:9 p@h": "u:xxxxx@h",
		"u: p@h": "u:xxxxx@h", "u:/p@h": "u:xxxxx@h", ":p@h": ":xxxxx@h", "redis://:p@h": "redis://:xxxxx@h",
		"postgres:/u:p w@h/db": "postgres:/u:xxxxx@h/db", "postgres://u:9 p@h/db": "postgres://u:xxxxx@h/db",
		"u:p\nw@h": "u:xxxxx@h", "host=h password=p": "host=h password=xxxxx",
		"https://me@h:80/x": "https://me@h:80/x", `C:\me@x\pleat.db`: `C:\me@x\pleat.db`, "http://h:80": "http://h:80",
		"postgres://h/x?passwrd=p": "postgres://h/x?passwrd=xxxxx", "postgres;//u:p@h/x": "postgres;//…",
		"postgres://u:p h/x": "postgres://…", "postgres://u:p": "postgres://…", "postgres/x.db": "postgres/x.db", "postgres://u:p＠h/x": "postgres://…",
		"postgres://u;p@h/x": "postgres://…", "postgres://u@[::1]:5432/x?sslmode=off": "postgres://u@[::1]:5432/x?sslmode=xxxxx",
		"/home/me@x/pleat.db": "/home/me@x/pleat.db", "anthropic:model": "anthropic:model",
	} {
		if got := shownValue(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}
