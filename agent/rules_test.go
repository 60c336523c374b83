package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
)

// The secrets are put together here so that nobody takes this file for a leak.
var secrets = []struct{ name, text, secret string }{
	{"AWS key id", "id = %s\n", "AKIA" + "IOSFODNN7EXAMPLE"},
	{"AWS secret key", "aws_secret_access_key = %s\n", "wJalrXUtnFEMI/K7MDENG/bPxRfi" + "CYEXAMPLEKEY"},
	{"GitHub token", "GITHUB_TOKEN=%s", "ghp_" + strings.Repeat("a1B2", 9)},
	{"fine GitHub token", "t: %s", "github_pat_" + strings.Repeat("11AB_", 10)},
	{"GitLab token", "%s", "glpat-" + strings.Repeat("x9", 10)},
	{"Anthropic key", "key=%s;", "sk-ant-api03-" + strings.Repeat("Ab3_", 20)},
	{"OpenAI key", "OPENAI_API_KEY=%s", "sk-proj-" + strings.Repeat("Ab3-", 10)},
	{"old OpenAI key", "use %s now", "sk-" + strings.Repeat("Ab3d", 12)},
	{"Slack token", "%s", "xoxb-" + "123456789012-abcdefGHIJ"},
	{"Google key", "%s", "AIza" + strings.Repeat("Sy1_-", 7)},
	{"Stripe key", "%s", "sk_live_" + strings.Repeat("4eC3", 6)},
	{"JWT", "cookie: %s", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "SflKxwRJSMeKKF2QT4"},
	{"bearer header", "Authorization: Bearer %s\r\n", "abcdef0123456789"},
	{"JSON header", `{"x-api-key": "%s"}`, "0123456789abcdef"},
	{"URL", "postgres://bob:%s@db:5432/x", "hunter22"},
	{
		"private key",
		"before\n%s\nafter",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
	},
	{"cut private key", "before\n%s", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n"},
}

func TestRedactSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range secrets {
		text := strings.Replace(tt.text, "%s", tt.secret, 1)
		got := agent.RedactSecrets(text)
		if strings.Contains(got, tt.secret) || !strings.Contains(got, "[redacted ") {
			t.Errorf("%s: %q became %q", tt.name, text, got)
		}
		if again := agent.RedactSecrets(got); again != got {
			t.Errorf("%s: redacted twice it is %q", tt.name, again)
		}
		before, after, _ := strings.Cut(tt.text, "%s")
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
			t.Errorf("%s: what stands around it changed: %q", tt.name, got)
		}
	}
	for _, text := range []string{
		"", "plain", "sk-learn is a library", "task-ant-hill", "the commit is 3f786850e387550fdab836ed7e6dc881de23001b",
		"sha256 e3b0c44298fc1c149afbf4c8996fb924", "https://example.com:8443/x@y", "git@github.com:a/b",
		"bearer of bad news", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "Authorization: required",
		"risk-free-and-easy-to-understand-words",
	} {
		if got := agent.RedactSecrets(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecretsStayOutOfTheTranscript(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		o := agent.Options{}
		if keep {
			o.Redact = agent.KeepSecrets
		}
		b := newBench(t, o, pleattest.Use(call("1", "read_file", `{"path":".env"}`)), pleattest.Say("ok"))
		b.file(t, ".env", "TOKEN="+secrets[2].secret+"\n")
		run(t, b.Agent, "look")
		if has := strings.Contains(b.results()[0].Text(), secrets[2].secret); has != keep {
			t.Errorf("keep %v: the result has the secret: %v", keep, has)
		}
		hits, err := b.Session().Search(context.Background(), recall.SearchRequest{Queries: []string{"TOKEN"}})
		must(t, err)
		if strings.Contains(hits.Text(), secrets[2].secret) != keep {
			t.Errorf("keep %v: search shows %q", keep, hits.Text())
		}
	}
}

func FuzzRedactSecrets(f *testing.F) {
	for _, s := range secrets {
		f.Add(strings.Replace(s.text, "%s", s.secret, 1))
	}
	f.Add("MIIEow\n-----END PRIVATE KEY----- -----BEGIN PRIVATE KEY-----\nMIIEow\n\n-----END PRIVATE KEY-----MIIEow")
	f.Fuzz(func(t *testing.T, text string) {
		once := agent.RedactSecrets(text)
		if twice := agent.RedactSecrets(once); twice != once {
			t.Errorf("redacted once: %q, twice: %q", once, twice)
		}
	})
}

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
