// Package secrets knows what secrets look like: keys and tokens of known services, and
// the names that people give to variables and options that hold a secret.
package secrets

import (
	"regexp"
	"slices"
	"strings"
)

// shape is a kind of secret that is known by its form.
type shape struct {
	// prefixes are how such secrets begin; every one begins with one of them.
	prefixes []string
	// hints replace prefixes where there are none: one of these texts, in lower case, is
	// near every such secret. Looking for them is much cheaper than matching.
	hints []string
	re    *regexp.Regexp
	// with replaces a match; $1 is what comes before the secret.
	with string
}

// shapes are ordered: the more special one comes first. What they match is replaced and
// does not match again.
var shapes = []shape{
	prefixed("AWS key id", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, "AKIA", "ASIA"),
	hinted(`(?i)((?:aws_secret|secretaccesskey|secret_access_key)[a-z_]*["']?[ \t]*[=:][ \t]*["']?)[A-Za-z0-9/+]{40}\b`,
		"${1}[redacted AWS secret key]", "aws_secret", "secretaccesskey", "secret_access_key"),
	prefixed("GitHub token", `\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})`, "ghp_", "gho_",
		"ghu_", "ghs_", "ghr_", "github_pat_"),
	prefixed("GitLab token", `\bglpat-[A-Za-z0-9_.-]{20,}`, "glpat-"),
	prefixed("Anthropic key", `\bsk-ant-[A-Za-z0-9_-]{16,}`, "sk-ant-"),
	prefixed("OpenAI key", `\bsk-(?:(?:proj|svcacct|admin|or-v1|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})`, "sk-"),
	prefixed("Slack token", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-",
		"xoxr-", "xoxs-"),
	hinted(`https://hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}`, "[redacted Slack token]", "hooks.slack.com"),
	prefixed("Google key", `\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`, "AIza", "ya29."),
	prefixed("Stripe key", `\b(?:[sr]k_(?:live|test)_[0-9a-zA-Z]{16,}|whsec_[0-9a-zA-Z+/=]{24,})`, "sk_live_",
		"sk_test_", "rk_live_", "rk_test_", "whsec_"),
	prefixed("npm token", `\bnpm_[A-Za-z0-9]{36}\b`, "npm_"),
	prefixed("PyPI token", `\bpypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
	prefixed("Hugging Face token", `\bhf_[A-Za-z0-9]{30,}\b`, "hf_"),
	prefixed("SendGrid key", `\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`, "SG."),
	prefixed("JWT", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, "eyJ"),
	hinted(`(?i)(\b(?:proxy-)?authorization["']?[ \t]*[:=][ \t]*["']?(?:bearer|basic|token|apikey)[ \t]+|\bx-(?:goog-)?api-key["']?[ \t]*[:=][ \t]*["']?)[A-Za-z0-9._~+/=-]{8,}`, "${1}[redacted credentials]", "authorization", "api-key"),
	hinted(`(\b[Bb]earer[ \t]+)[A-Za-z0-9._~+/-]{20,}=*`, "${1}[redacted credentials]", "bearer "),
	hinted(`(\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:)[^\s/@"'<>\[\]]{3,}@`, "${1}[redacted password]@", "://"),
}

func prefixed(name, pattern string, prefixes ...string) shape {
	return shape{prefixes: prefixes, re: regexp.MustCompile(pattern), with: "[redacted " + name + "]"}
}

func hinted(pattern, with string, hints ...string) shape {
	return shape{hints: hints, re: regexp.MustCompile(pattern), with: with}
}

// Redact takes secrets of known shapes out of a text: private keys, keys and tokens of
// AWS, GitHub, GitLab, Anthropic, OpenAI, Slack, Google, Stripe, npm, PyPI, Hugging Face
// and SendGrid, JSON web tokens, authorization headers, passwords in URLs. In their place
// it puts what they were. The same text always gives the same result, and redacting twice
// is redacting once. Only keys have several lines, and nothing else that stands on a line of
// its own is taken out. Secrets without a shape of their own are not found.
func Redact(text string) string {
	text = redactKeys(text)
	lower := strings.ToLower(text)
	for _, s := range shapes {
		if containsAny(text, s.prefixes) || containsAny(lower, s.hints) {
			text = s.re.ReplaceAllString(text, s.with)
		}
	}
	return text
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// Named reports whether a member, variable or option is named like one that holds a
// secret.
func Named(name string) bool {
	name = strings.ToLower(name)
	return name == "token" || strings.HasSuffix(name, "_token") || containsAny(name, names)
}

var (
	names = []string{
		"password", "passwd", "secret", "api_key", "apikey", "api-key", "authorization", "access_token", "auth_token",
		"private_key",
	}
	// One is in every line with a named secret.
	hints = []string{"bearer ", "token", "password", "passwd", "secret", "key"}
)

// HideWords puts a mark in the place of what looks like a secret on a command line: words
// that begin like a key and are long enough to be one, bearer tokens, and values of
// variables and options that are named like a secret. It hides more than [Redact], because
// a command line is cut short and a key in it may be cut too.
func HideWords(line, mark string) string {
	if !containsAny(line, prefixes) && !containsAny(strings.ToLower(line), hints) {
		return line
	}
	words := strings.Split(line, " ")
	for i, w := range words {
		switch name, value, ok := strings.Cut(w, "="); {
		case ok && value != "" && Named(strings.TrimLeft(name, "-")):
			words[i] = name + "=" + mark
		case i > 0 && announces(words[i-1]):
			words[i] = mark
		default:
			words[i] = hideKey(w, mark)
		}
	}
	return strings.Join(words, " ")
}

var prefixes = func() (all []string) {
	for _, s := range shapes {
		all = append(all, s.prefixes...)
	}
	return all
}()

// hideKey hides the key that begins in a word.
func hideKey(w, mark string) string {
	for _, p := range prefixes {
		i := strings.Index(w, p)
		if i < 0 || i > 0 && isWordByte(w[i-1]) {
			continue
		}
		end := i + len(p)
		for end < len(w) && (isWordByte(w[end]) || w[end] == '-' || w[end] == '.') {
			end++
		}
		if end-i >= 20 && strings.ContainsAny(w[i+len(p):end], "0123456789") {
			return w[:i] + mark + w[end:]
		}
	}
	return w
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// announces reports whether the next word after this one is a secret: Bearer …, --password …
func announces(word string) bool {
	option, ok := strings.CutPrefix(word, "--")
	return strings.HasSuffix(word, "Bearer") || ok && !strings.Contains(option, "=") && Named(option)
}
