package secrets

import (
	"strings"
	"testing"
)

// Whatever Redact finds by its beginning is hidden on a command line too: there is one
// list. The secrets are put together here so that nobody takes this file for a leak.
func TestOneList(t *testing.T) {
	for name, secret := range map[string]string{
		"AWS key id":    "AKIA" + "IOSFODNN7EXAMPLE",
		"GitHub token":  "ghu_" + strings.Repeat("a1B2", 9),
		"GitLab token":  "glpat-" + strings.Repeat("x9", 10),
		"Anthropic key": "sk-ant-api03-" + strings.Repeat("Ab3_", 20), "OpenAI key": "sk-" + strings.Repeat("Ab3d", 12),
		"Slack token":        "xoxb-" + "123456789012-abcdefGHIJ",
		"Google key":         "AIza" + strings.Repeat("Sy1_-", 7),
		"Stripe key":         "rk_test_" + strings.Repeat("4eC3", 6),
		"npm token":          "npm_" + strings.Repeat("a1B2", 9),
		"PyPI token":         "pypi-" + strings.Repeat("AgE1", 15),
		"Hugging Face token": "hf_" + strings.Repeat("Xy1z", 9),
		"SendGrid key":       "SG." + strings.Repeat("a", 21) + "1." + strings.Repeat("b", 43),
		"JWT":                "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "SflKxwRJSMeKKF2QT4",
	} {
		line := "curl -H x:" + secret + " https://example.com"
		if got := HideWords(line, "…"); got != "curl -H x:… https://example.com" {
			t.Errorf("%s: %q", name, got)
		}
		if got := Redact(line); got != "curl -H x:[redacted "+name+"] https://example.com" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestHideWords(t *testing.T) {
	for line, want := range map[string]string{
		"DB_PASSWORD=hunter2 make":                   "DB_PASSWORD=… make",
		"login --api-key=abc --user bob":             "login --api-key=… --user bob",
		"login --token abc --user bob":               "login --token … --user bob",
		"curl -H 'Authorization: Bearer abc' host":   "curl -H 'Authorization: Bearer … host",
		"ls sk-learn-and-other-long-names tokenizer": "ls sk-learn-and-other-long-names tokenizer",
		"cat keys/npm_packages_of_this_project.txt":  "cat keys/npm_packages_of_this_project.txt",
		"echo risk-1234567890123456789012":           "echo risk-1234567890123456789012",
	} {
		if got := HideWords(line, "…"); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]bool{
		"PASSWORD":     true,
		"token":        true,
		"GITHUB_TOKEN": true,
		"my-api-key":   true,
		"tokens":       false,
		"path":         false,
		"keyboard":     false,
	} {
		if got := Named(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
