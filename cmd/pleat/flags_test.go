package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/sessionlog"
)

// The agents of docs/figures.json, which README and CHANGELOG name, are those that there are, and that show names.
func TestAgentsNamed(t *testing.T) {
	text, err := os.ReadFile("../../docs/figures.json")
	must(t, err)
	var file struct {
		Figures map[string]struct{ Value string }
	}
	must(t, json.Unmarshal(text, &file))
	home := t.TempDir()
	var wrapped, insides []string
	for _, c := range clients.All {
		if c.Why == "" && !c.Settings {
			wrapped = append(wrapped, c.Title)
		}
		if _, _, err := c.Inside("pleat", "", func(string) string { return home }); err == nil {
			insides = append(insides, c.Title)
		}
	}
	list := strings.NewReplacer(" and ", ", ", " or ", ", ")
	for name, want := range map[string]string{
		"agents-read":    list.Replace(sessionfile.Agents),
		"agents-wrapped": strings.Join(wrapped, ", "),
		"agents-inside":  strings.Join(insides, ", "),
	} {
		if got := list.Replace(file.Figures[name].Value); got != want {
			t.Errorf("docs/figures.json: %s is %q, want %q", name, got, want)
		}
	}
	plain := strings.NewReplacer(" ", "", "-", "")
	for _, agent := range sessionlog.Agents() {
		if !strings.Contains(strings.ToLower(plain.Replace(sessionfile.Agents)), plain.Replace(string(agent.Format))) {
			t.Errorf("%s is not among %s", agent.Format, sessionfile.Agents)
		}
	}
	if help, _, _ := cli(t, "", "show", "--help"); !strings.Contains(strings.Join(strings.Fields(help), " "), sessionfile.Agents) {
		t.Errorf("show does not name %s", sessionfile.Agents)
	}
}

func TestParseFlags(t *testing.T) {
	for _, c := range []struct{ args, rest, err string }{
		{"--lines 1:2 abc", "abc", ""},
		{"abc --lines 1:2", "abc", ""},
		{"abc --lines=1:2 --raw -", "abc -", ""},
		{"abc -- --lines", "abc --lines", ""},
		{"--raw -- abc -x", "abc -x", ""},
		{"-- -- abc", "-- abc", ""},
		{"abc --nope", "", "unfold: unknown flag: --nope"},
		{"abc --linse 3", "", "unfold: unknown flag: --linse (did you mean --lines?)"},
		{"abc --around x", "", `unfold: invalid argument "x" for "--around" flag`},
		{"abc --lines", "", "unfold: flag needs an argument: --lines"},
	} {
		x := unfoldCommand(&term.Console{})
		var rest []string
		x.SilenceErrors, x.SilenceUsage = true, true
		x.Args, x.RunE = nil, func(_ *cobra.Command, args []string) error { rest = args; return nil }
		x.SetFlagErrorFunc(flagError)
		x.SetArgs(strings.Fields(c.args))
		err := x.Execute()
		if got := strings.Join(rest, " "); got != c.rest || (err == nil) != (c.err == "") || err != nil &&
			!strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%q: %q, %v; want %q, %q", c.args, got, err, c.rest, c.err)
		}
	}
}

// Every command is explained, and says no to flags it does not have with exit code 2.
func TestEveryCommandIsExplained(t *testing.T) {
	each(root(&term.Console{Getenv: os.Getenv}), func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Short == "" || c.Long == "" || len(c.Short) > 76 {
			t.Errorf("%s: %q, help %q", path, c.Short, c.Long)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: flag --%s is not explained", path, f.Name)
			}
		})
		out, stderr, code := cli(t, "", append(strings.Fields(path)[1:], "--help")...)
		words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		if code != 0 || !strings.HasPrefix(words(out), words(c.Long)) || stderr != "" {
			t.Errorf("%s --help: code %d, %q", path, code, stderr)
		}
		for line := range strings.Lines(out) {
			if term.Columns(line) > term.DefaultWidth {
				t.Errorf("%s --help has a line of %d columns: %s", path, term.Columns(line), line)
			}
		}
		if !c.Runnable() {
			return
		}
		if _, stderr, code := cli(t, "", append(strings.Fields(path)[1:], "--no-such-flag")...); code != 2 {
			t.Errorf("%s --no-such-flag: code %d, %s", path, code, stderr)
		}
	})
}

// The first list of commands is short, and so are those of flags. What they leave out is there.
func TestHelpIsShort(t *testing.T) {
	root := root(&term.Console{Getenv: os.Getenv})
	commands := 1 // help
	var flags []string
	each(root, func(c *cobra.Command) {
		if c.GroupID != "" {
			commands++
		}
		hideSeldom(c)
		listed := 1 // --help
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags = append(flags, f.Name, c.Name()+":"+f.Name)
			if !f.Hidden {
				listed++
			}
		})
		if listed > 15 {
			t.Errorf("%s --help lists %d flags", c.CommandPath(), listed)
		}
	})
	if commands > 16 {
		t.Errorf("help explains %d commands", commands)
	}
	for _, name := range seldom {
		if !slices.Contains(flags, name) {
			t.Errorf("no command has the flag %s", name)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"unfold", 2},
		{"unfold x --lines 0:1", 2},
		{"unfold x", 1},
		{"stored", 2},
		{"verify --json", 2},
		{"store", 2},
		{"store nonsense", 2},
		{"store list x", 2},
		{"store list", 1},
		{"store export", 2},
		{"store export x", 1},
		{"store import", 2},
		{"store import none.jsonl", 1},
		{"store verify x", 2},
		{"store verify", 1},
		{"store gc", 2},
		{"store gc --name x", 1},
		{"store forget", 2},
		{"store forget x --yes", 1},
		{"completion", 0},
		{"completion fish", 0},
		{"completion powershell", 0},
		{"--version", 0},
	} {
		if _, stderr, code := cli(t, t.TempDir()+"/none.db", strings.Fields(c.args)...); code != c.want {
			t.Errorf("pleat %s: code %d, want %d: %s", c.args, code, c.want, stderr)
		}
	}
}

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
		"/u:p@h/db": "…", "u:p@h": "…", "u:p w@h": "…", "u:9 p@h": "…", "u: p@h": "…", "u:/p@h": "…", ":p@h": "…",
		"redis://:p@h": "redis://h", "postgres:/u:p w@h/db": "…", "postgres://u:9 p@h/db": "…", "u:p\nw@h": "…",
		"host=h password=p": "host=h password=xxxxx", "https://me@h:80/x": "https://h:80/x", "http://h:80": "http://h:80",
		"postgres://h/x?passwrd=p": "postgres://h/x", "postgres;//u:p@h/x": "…", "postgres://u:1/w@h/x": "…", "postgres://u:p@w/#@h/x": "…",
		"postgres://u:p h/x": "…", "postgres://u:p": "…", "postgres/x.db": "postgres/x.db", "postgres://u:p＠h/x": "…",
		"postgres://u;p@h/x": "postgres://h/x", "postgres://u@[::1]:5432/x?sslmode=off": "postgres://[::1]:5432/x",
		"/home/me@x/pleat.db": "/home/me@x/pleat.db", "anthropic:model": "anthropic:model", `C:\x\pleat.db`: `C:\x\pleat.db`,
	} {
		if got := shownValue(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}
