package agent

import (
	"regexp"
	"strings"
)

// secretShape is a kind of secret that is known by its form.
type secretShape struct {
	name string
	// hints are texts of which one is in every such secret: looking for them is much
	// cheaper than matching. In lower case where fold is set.
	hints []string
	fold  bool
	re    *regexp.Regexp
	// keep is the group before the secret that stays; 0: none.
	keep int
}

// secretShapes are ordered: the more special one comes first. What they match is replaced
// and does not match again.
var secretShapes = []secretShape{
	{"private key", []string{"PRIVATE KEY"}, false, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), 0},
	{"AWS key id", []string{"AKIA", "ASIA"}, false, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), 0},
	{"AWS secret key", []string{"aws_secret", "secretaccesskey", "secret_access_key"}, true, regexp.MustCompile(`(?i)((?:aws_secret|secretaccesskey|secret_access_key)[a-z_]*["']?\s*[=:]\s*["']?)[A-Za-z0-9/+]{40}\b`), 1},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, false, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})`), 0},
	{"GitLab token", []string{"glpat-"}, false, regexp.MustCompile(`\bglpat-[A-Za-z0-9_.-]{20,}`), 0},
	{"Anthropic key", []string{"sk-ant-"}, false, regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{16,}`), 0},
	{"OpenAI key", []string{"sk-"}, false, regexp.MustCompile(`\bsk-(?:(?:proj|svcacct|admin|or-v1|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})`), 0},
	{"Slack token", []string{"xox", "hooks.slack.com"}, false, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}|https://hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}`), 0},
	{"Google key", []string{"AIza", "ya29."}, false, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`), 0},
	{"Stripe key", []string{"k_live_", "k_test_", "whsec_"}, false, regexp.MustCompile(`\b(?:[sr]k_(?:live|test)_[0-9a-zA-Z]{16,}|whsec_[0-9a-zA-Z+/=]{24,})`), 0},
	{"npm token", []string{"npm_"}, false, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`), 0},
	{"PyPI token", []string{"pypi-"}, false, regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{50,}`), 0},
	{"Hugging Face token", []string{"hf_"}, false, regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}\b`), 0},
	{"SendGrid key", []string{"SG."}, false, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`), 0},
	{"JWT", []string{"eyJ"}, false, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), 0},
	{"credentials", []string{"authorization", "api-key"}, true, regexp.MustCompile(`(?i)(\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token|apikey)\s+|\bx-(?:goog-)?api-key["']?\s*[:=]\s*["']?)[A-Za-z0-9._~+/=-]{8,}`), 1},
	{"credentials", []string{"bearer "}, true, regexp.MustCompile(`(\b[Bb]earer\s+)[A-Za-z0-9._~+/-]{20,}=*`), 1},
	{"password", []string{"://"}, false, regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:)[^\s/@"'<>\[\]]{3,}@`), 1},
}

// RedactSecrets takes secrets of known shapes out of a text: private keys, keys and tokens
// of AWS, GitHub, GitLab, Anthropic, OpenAI, Slack, Google, Stripe, npm, PyPI, Hugging
// Face and SendGrid, JSON web tokens, authorization headers, passwords in URLs. In their
// place stands what they were. The same text always gives the same result, and redacting
// twice is redacting once. Secrets without a shape of their own are not found.
func RedactSecrets(text string) string {
	lower := ""
	for i := range secretShapes {
		s := &secretShapes[i]
		in := text
		if s.fold {
			if lower == "" {
				lower = strings.ToLower(text)
			}
			in = lower
		}
		if s.hinted(in) {
			text = s.redact(text)
		}
	}
	return text
}

func (s *secretShape) hinted(text string) bool {
	for _, h := range s.hints {
		if strings.Contains(text, h) {
			return true
		}
	}
	return false
}

func (s *secretShape) redact(text string) string {
	mark := "[redacted " + s.name + "]"
	if s.keep > 0 {
		mark = "${1}" + mark
	}
	if s.name == "password" {
		mark += "@"
	}
	return s.re.ReplaceAllString(text, mark)
}

// KeepSecrets changes nothing: for [Options.Redact], to switch redaction off.
func KeepSecrets(text string) string { return text }
