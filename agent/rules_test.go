package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
)

func TestRulesForCommands(t *testing.T) {
	t.Parallel()
	rules := agent.Rules{
		Allow: []string{"bash(git status*)", "bash(ls*)", "bash(go test ./...)", "bash(grep *)", "bash(echo *)"},
		Deny:  []string{"bash(git status --secret*)", "bash(rm *)"},
	}
	allowed := []string{
		"git status", "git status --short", "git status && ls -la", "ls; ls", "ls;", "ls | grep a",
		"ls -la 2>&1 | grep 'a b'", "grep \"x y\" f 2>/dev/null",
		"ls > /dev/null", "  ls  ", "go test ./... || ls", "echo 'a; b'", `echo "a && b"`, "grep -n x *.go",
	}
	for _, cmd := range allowed {
		if d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); !d.Allow || !known {
			t.Errorf("%q was not allowed", cmd)
		}
	}
	asked := []string{
		"", " ", "git", "git push", "git status; rm -rf /", "git status && rm x", "git status & rm x",
		"git status | sh", "git status\nrm x", "git status\rrm x", "git status $(rm x)", "git status `rm x`",
		"git status > /etc/passwd", "git status >> f", "git status < f", "git status 2> f", "ls 2>file", "ls >&file",
		"ls &> f", "ls >/dev/null2", "ls >/dev/nullx", "git status <(rm x)", "ls $HOME", "ls ${x}", `ls "$(rm x)"`,
		"ls \"`rm x`\"", `ls "a\"; rm x"`, "FOO=1 ls", "ls; FOO=1 rm", "eval ls", "l\\s; rm x", "ls \\; rm", "(ls)",
		"{ ls; }", "ls # x", "! ls", "if ls", "ls ;; ls", "ls |& ls", "ls && && ls", "ls ||", "&& ls", "ls 'unclosed",
		`ls "unclosed`, "'ls' x; rm", "go test ./... -exec rm", "ls ~", "ls\x00rm", "time ls", ". ls", "exec ls",
		"ls 2>&1x", "ls5>&1file",
	}
	for _, cmd := range asked {
		if d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow {
			t.Errorf("%q was allowed (known %v)", cmd, known)
		}
	}
	for _, cmd := range []string{"git status --secret", "ls; rm -rf x", "ls $(rm x)", "echo `rm x`", "rm x"} {
		if d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow || !known || d.Reason == "" {
			t.Errorf("%q was not denied", cmd)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rules         agent.Rules
		tool, subject string
		allow, known  bool
	}{
		{agent.Rules{}, "bash", "ls", false, false},
		{agent.Rules{Allow: []string{"bash"}}, "bash", "rm -rf $HOME > x", true, true},
		{agent.Rules{Allow: []string{"*"}}, "bash", "anything; at all", true, true},
		{agent.Rules{Allow: []string{"*"}}, "write_file", "x", true, true},
		{agent.Rules{Allow: []string{"*"}, Deny: []string{"bash"}}, "bash", "ls", false, true},
		{agent.Rules{Allow: []string{"write_file(src/**)"}}, "write_file", "src/a/b", true, true},
		{agent.Rules{Allow: []string{"write_file(src/**)"}}, "write_file", "srcx/a", false, false},
		{agent.Rules{Allow: []string{"write_file(src/*)"}}, "write_file", "src/a/b", false, false},
		{agent.Rules{Allow: []string{"write_file(src/*)"}}, "edit_file", "src/a", false, false},
		{agent.Rules{Allow: []string{"write_file(**)"}}, "write_file", "", false, false},
		{agent.Rules{Allow: []string{"write_file([)"}}, "write_file", "[", false, false},
		{agent.Rules{Deny: []string{"write_file([)"}}, "write_file", "x", false, true},
	} {
		d, known := tt.rules.Decide(agent.Call{Name: tt.tool, Subject: tt.subject})
		if d.Allow != tt.allow || known != tt.known {
			t.Errorf("%+v: %s %q: allow %v, known %v", tt.rules, tt.tool, tt.subject, d.Allow, known)
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
		t.Error("what the rules do not decide was not asked")
	}
	if d, _ := (agent.Rules{}).Permit(nil)(t.Context(), agent.Call{Name: "bash"}); d.Allow {
		t.Error("what the rules do not decide was allowed")
	}
}

// Whatever a rule for one harmless command lets through has no sign in it, outside of
// quotes, by which a shell would do something else.
func FuzzRulesForCommands(f *testing.F) {
	for _, s := range []string{
		"echo a", "echo a; echo b", "echo 'a;b'", `echo "a|b"`, "echo a > /dev/null", "echo $(x)",
		"echo a 2>&1 | echo b", "echo \\\n",
	} {
		f.Add(s)
	}
	rules := agent.Rules{Allow: []string{"bash(echo *)"}}
	f.Fuzz(func(t *testing.T, cmd string) {
		if d, _ := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); !d.Allow {
			return
		}
		rest := outsideQuotes(strings.TrimSpace(cmd))
		for _, harmless := range []string{
			">>/dev/null", ">/dev/null", "> /dev/null", "</dev/null", "< /dev/null", ">&1", ">&2",
		} {
			rest = strings.ReplaceAll(rest, harmless, "")
		}
		if strings.ContainsAny(rest, "$`(){}<>\\\n\r!#~\x00") ||
			strings.Contains(strings.ReplaceAll(rest, "&&", ""), "&") {
			t.Errorf("%q was allowed", cmd)
		}
		for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == ';' || r == '|' || r == '&' }) {
			if p := strings.TrimSpace(part); p != "" && !strings.HasPrefix(p, "echo") {
				t.Errorf("%q was allowed with %q in it", cmd, p)
			}
		}
	})
}

// A rule that denies a command holds behind and before any other text, whatever the shell
// makes of it.
func FuzzDenyRules(f *testing.F) {
	for _, s := range append(spellings, "echo 'a", "a\\", "# x", "cat <<E", "((", "${x", "*") {
		f.Add(s, "rm *")
	}
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if rules := (agent.Rules{Deny: []string{"bash(" + pattern + ")"}}); rules.Check() == nil &&
			!strings.Contains(pattern, "\x00") {
			rules.Decide(agent.Call{Name: "bash", Subject: text})
			if d, _ := rules.Decide(agent.Call{Name: "bash", Subject: pattern}); d.Reason == "" {
				t.Errorf("%v let %q through", rules.Deny, pattern)
			}
		}
		rules := agent.Rules{Allow: []string{"*"}, Deny: []string{"bash(rm victim*)"}}
		for _, cmd := range []string{
			"rm victim\n" + text, text + "\nrm victim", text + ";rm victim", text + "$(rm victim)",
			text + "\n/bin/'r'm\tvictim",
		} {
			if d, _ := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow {
				t.Errorf("%q was allowed", cmd)
			}
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
