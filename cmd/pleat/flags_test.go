package main

import (
	"strings"
	"testing"
)

func TestParseFlags(t *testing.T) {
	for _, c := range []struct{ args, rest, err string }{
		{"--lines 1:2 abc", "abc", ""},
		{"abc --lines 1:2", "abc", ""},
		{"abc --lines=1:2 --raw -", "abc -", ""},
		{"abc -- --lines", "abc --lines", ""},
		{"--raw -- abc -x", "abc -x", ""},
		{"-- -- abc", "-- abc", ""},
		{"abc --nope", "", "unknown flag --nope"},
		{"abc --around x", "", `invalid value "x" for flag --around: parse error`},
		{"abc --lines", "", "flag --lines needs a value"},
	} {
		fs, _ := unfoldCommand.flagSet()
		rest, err := parseFlags(fs, strings.Fields(c.args))
		if got := strings.Join(rest, " "); got != c.rest || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %q, %v; want %q, %q", c.args, got, err, c.rest, c.err)
		}
	}
}

// Every command is explained, and says no to flags it does not have with exit code 2.
func TestEveryCommandIsExplained(t *testing.T) {
	man := manPage(commands())
	for _, c := range commands() {
		if c.summary == "" || c.help == "" || len(c.summary) > 76 {
			t.Errorf("%s: summary %q, help %q", c.name, c.summary, c.help)
		}
		c.eachFlag(func(name, _, usage, _ string) {
			if usage == "" {
				t.Errorf("%s: flag %s is not explained", c.name, dashed(name))
			}
		})
		out, stderr, code := cli(t, "", c.name, "--help")
		if code != 0 || !strings.HasPrefix(out, "Usage: pleat "+c.name) || stderr != "" {
			t.Errorf("%s --help: code %d, %q", c.name, code, stderr)
		}
		for line := range strings.Lines(out) {
			if columns(line) > 101 {
				t.Errorf("%s --help has a line of %d columns: %s", c.name, columns(line), line)
			}
		}
		if _, stderr, code := cli(t, "", c.name, "--no-such-flag"); code != 2 {
			t.Errorf("%s --no-such-flag: code %d, %s", c.name, code, stderr)
		}
		if !strings.Contains(man, "\n.SH "+strings.ToUpper(c.name)+"\n") {
			t.Errorf("the manual page does not have %s", c.name)
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
		{"stored x", 2},
		{"stored", 1},
		{"export", 2},
		{"export x", 1},
		{"import", 2},
		{"import none.jsonl", 1},
		{"verify x", 2},
		{"verify", 1},
		{"gc", 2},
		{"gc --name x", 1},
		{"forget", 2},
		{"forget x --yes", 1},
		{"completion", 2},
		{"completion fish", 0},
		{"man x", 2},
		{"man", 0},
	} {
		if _, stderr, code := cli(t, t.TempDir()+"/none.db", strings.Fields(c.args)...); code != c.want {
			t.Errorf("pleat %s: code %d, want %d: %s", c.args, code, c.want, stderr)
		}
	}
}
