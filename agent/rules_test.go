package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
)

func TestRulesForCommands(t *testing.T) {
	t.Parallel()
	rules := agent.Rules{Allow: []string{
		"bash(git status*)", "bash(ls*)", "bash(go test ./...)", "bash(grep *)", "bash(echo *)", "bash(make && make test)",
	}}
	allowed := []string{
		"git status", "git status --short", "ls -la", "grep \"x y\" f", "  ls  ", "ls\n", "go test ./...", "echo 'a; b'",
		`echo "a && b"`, "grep -n x *.go", "make && make test", "ls '#'", "grep a#b f",
	}
	for _, cmd := range allowed {
		if !rules.Allows(agent.Call{Name: "bash", Subject: cmd}) {
			t.Errorf("%q was not allowed", cmd)
		}
	}
	asked := []string{
		"git status && ls -la", "ls; ls", "ls;", "ls | grep a", "ls > /dev/null", "ls -la 2>&1", "ls &", "ls\nrm x",
		"echo \"a\\\"; rm x; \"b\"", "! ls", "echo 'a\nb", "echo\r#; ls", "echo `a", "echo $((1", "echo <<<x", "echo {ls;}",
		strings.Repeat("ls;", 30000) + "x", "echo " + strings.Repeat("$(", 100) + strings.Repeat(")", 100),
		"", " ", "git", "git push", "git status; rm -rf /", "git status && rm x", "git status & rm x",
		"git status | sh", "git status\nrm x", "git status\rrm x", "git status $(rm x)", "git status `rm x`",
		"git status > /etc/passwd", "git status >> f", "git status < f", "git status 2> f", "ls 2>file", "ls >&file",
		"ls &> f", "ls >/dev/null2", "ls >/dev/nullx", "git status <(rm x)", "ls $HOME", "ls ${x}", `ls "$(rm x)"`,
		"ls \"`rm x`\"", `ls "a\"; rm x"`, "FOO=1 ls", "ls; FOO=1 rm", "eval ls", "l\\s; rm x", "ls \\; rm", "(ls)",
		"{ ls; }", "ls # x", "! ls", "if ls", "ls ;; ls", "ls |& ls", "ls && && ls", "ls ||", "&& ls", "ls 'unclosed",
		`ls "unclosed`, "'ls' x; rm", "go test ./... -exec rm", "time ls", ". ls", "exec ls",
		"ls 2>&1x", "ls5>&1file",
	}
	for _, cmd := range asked {
		if rules.Allows(agent.Call{Name: "bash", Subject: cmd}) {
			t.Errorf("%.80q was allowed", cmd)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, tool, subject string
		want                bool
	}{
		{"", "bash", "ls", false},
		{"bash", "bash", "rm -rf $HOME > x", true},
		{"bash(*)", "bash", "rm -rf x", true},
		{"bash(*)", "bash", "rm -rf $HOME > x", false},
		{"*", "bash", "anything; at all", true},
		{"*", "write_file", "x", true},
		{"write_file(src/**)", "write_file", "src/a/b", true},
		{"write_file(src/**)", "write_file", "srcx/a", false},
		{"write_file(src/*)", "write_file", "src/a/b", false},
		{"write_file(src/*)", "edit_file", "src/a", false},
		{"write_file(**)", "write_file", "", false},
		{"write_file([)", "write_file", "[", false},
	} {
		rules := agent.Rules{Allow: []string{tt.rule}}
		if got := rules.Allows(agent.Call{Name: tt.tool, Subject: tt.subject}); got != tt.want {
			t.Errorf("%s: %s %q: %v", tt.rule, tt.tool, tt.subject, got)
		}
	}
	for _, bad := range []string{"", "bash(", "two words", "write_file([)", "(x)"} {
		if (agent.Rules{Allow: []string{bad}}).Check() == nil {
			t.Errorf("the rule %q was taken", bad)
		}
	}
	if err := (agent.Rules{Allow: []string{"bash", "bash(a (b))", "*", "mcp.x-y(z)"}}).Check(); err != nil {
		t.Error(err)
	}
	next := func(context.Context, agent.Call) (agent.Decision, error) { return agent.Decision{Allow: true}, nil }
	if d, _ := (agent.Rules{}).Permit(next)(t.Context(), agent.Call{Name: "bash"}); !d.Allow {
		t.Error("what no rule allows was not asked")
	}
	if d, _ := (agent.Rules{}).Permit(nil)(t.Context(), agent.Call{Name: "bash"}); d.Allow {
		t.Error("what no rule allows was allowed")
	}
}

// Whatever a rule for one harmless command lets through has no sign in it, outside of
// quotes, by which a shell would do something else.
func FuzzRulesForCommands(f *testing.F) {
	for _, s := range []string{
		"echo a", "echo a; echo b", "echo 'a;b'", `echo "a|b"`, "echo a > /dev/null", "echo $(x)",
		"echo a 2>&1 | echo b", "echo \\\n", `echo "a\"; rm x; "b"`,
	} {
		f.Add(s)
	}
	rules := agent.Rules{Allow: []string{"bash(echo *)"}}
	f.Fuzz(func(t *testing.T, cmd string) {
		if !rules.Allows(agent.Call{Name: "bash", Subject: cmd}) || strings.Contains(cmd, "\\") {
			return
		}
		if rest := outsideQuotes(strings.TrimSpace(cmd)); strings.ContainsAny(rest, "`()<>;|&\n\r") {
			t.Errorf("%q was allowed", cmd)
		}
	})
}

// outsideQuotes is a command without what stands in single quotes, and with $ and ` of
// what stands in double ones.
func outsideQuotes(s string) string {
	var b strings.Builder
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote == 0 || quote == '"' && (c == '$' || c == '`' || c == '\\'):
			b.WriteByte(c)
		}
	}
	return b.String()
}
