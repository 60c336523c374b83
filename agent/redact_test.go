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
