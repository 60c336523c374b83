package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// README names the agents that show and its errors name.
func TestAgentsNamed(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if text := strings.Join(strings.Fields(string(readme)), " "); err != nil ||
		!strings.Contains(text, sessionfile.Agents) {
		t.Errorf("README does not name %s (%v)", sessionfile.Agents, err)
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
