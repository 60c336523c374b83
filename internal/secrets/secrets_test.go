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

// key is made up: lines as long as those of real keys, and a short last one.
func key(kind, first string) string {
	lines := []string{"-----BEGIN " + kind + "-----"}
	if strings.HasPrefix(kind, "PGP") {
		lines = append(lines, "Version: GnuPG v2", "")
	}
	lines = append(lines, first+strings.Repeat("aB3/", 16)[len(first):], strings.Repeat("Zx9+", 16), "q7Rt0A==")
	return strings.Join(append(lines, "-----END "+kind+"-----"), "\n")
}

// eachLine writes every line of a key the way that something shows it.
func eachLine(key string, as func(i int, line string) string) string {
	lines := strings.Split(key, "\n")
	for i, l := range lines {
		lines[i] = as(i, l)
	}
	return strings.Join(lines, "\n")
}

// A private key is found however it is shown, and nothing around it goes with it.
func TestPrivateKeys(t *testing.T) {
	rsa := key("RSA PRIVATE KEY", "MIIEow")
	before := func(s string) func(int, string) string { return func(_ int, l string) string { return s + l } }
	keys := map[string]string{
		"RSA": rsa, "EC": key("EC PRIVATE KEY", "MHcCAQ"), "PKCS8": key("PRIVATE KEY", "MC4CAQ"),
		"OpenSSH": key("OPENSSH PRIVATE KEY", "b3Blbn"), "PGP": key("PGP PRIVATE KEY BLOCK", "lQOYBF"),
		"encrypted":  strings.Replace(rsa, "\nMII", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\nMII", 1),
		"CRLF":       strings.ReplaceAll(rsa, "\n", "\r\n"),
		"JSON":       `"` + strings.ReplaceAll(rsa, "\n", `\n`) + `\n"`,
		"JSON twice": `\"` + strings.ReplaceAll(rsa, "\n", `\\n`) + `\\n\"`,
		"indented":   eachLine(rsa, before("    ")),
		"quoted":     eachLine(rsa, before("> ")), "diff": eachLine(rsa, before("+")),
		"string":  eachLine(rsa, func(_ int, l string) string { return `  "` + l + `\n" +` }),
		"read":    eachLine(rsa, func(i int, l string) string { return "     " + string(rune('1'+i)) + "→" + l }),
		"cat":     eachLine(rsa, func(i int, l string) string { return "     " + string(rune('1'+i)) + "\t" + l }),
		"columns": eachLine(rsa, func(i int, l string) string { return "  " + string(rune('1'+i)) + " | " + l }),
		"grep":    eachLine(rsa, func(i int, l string) string { return "etc/tls.pem-" + string(rune('1'+i)) + "-" + l }),
		"flat":    strings.ReplaceAll(rsa, "\n", " "), "no breaks": strings.ReplaceAll(rsa, "\n", ""),
		"cut":         strings.Join(strings.Split(rsa, "\n")[:3], "\n"),
		"cut at once": rsa[:len("-----BEGIN RSA PRIVATE KEY-----\nMIIEow")],
		"headless":    strings.Join(strings.Split(rsa, "\n")[1:], "\n"),
		"middle cut":  strings.Replace(rsa, "\nZx9+", "\n[… 12 lines left out …]\nZx9+", 1),
	}
	for name, key := range keys {
		got := Redact("Take 2.\n" + key + "\n## Notes\nonly cache-7731\n")
		if !strings.HasPrefix(got, "Take 2.\n") || !strings.HasSuffix(got, "\n## Notes\nonly cache-7731\n") {
			t.Errorf("%s: what stands around the key went with it: %q", name, got)
		}
		for _, part := range []string{"aB3/", "Zx9", "q7Rt", "MIIE"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: the key is in %q", name, got)
			}
		}
		if again := Redact(got); again != got || !strings.Contains(got, keyMark) {
			t.Errorf("%s: %q, redacted twice %q", name, got, again)
		}
	}
}

// Words that name a key's first or last line are no key, and lines that are none end one.
func TestNoPrivateKeys(t *testing.T) {
	for _, text := range []string{
		"make: -----BEGIN PRIVATE KEY----- error 1\n<result 1a2b>\n-----END PRIVATE KEY-----\n## Pinned\n</result 1a2b>",
		"It says -----BEGIN PRIVATE KEY-----\n</said 1a2b>\n- message 5: Take 2, but only cache-7731.",
		"Does it begin with -----BEGIN PRIVATE KEY----- or not?\nno, only cache-7731.",
		"-----BEGIN PRIVATE KEY-----\nThanks\nuseEffect\ncmd/pleat/internal/library/handoff\nMAIN\n7731\n",
		"Between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- stands the key.",
		"a word\nanother\n-----END PRIVATE KEY-----\n",
		"Authorization: Basic\nimplementing it", "bearer\nabcdefghijklmnopqrstuvwxyz",
	} {
		if got := Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	cut := "The log has: -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqh\nTake 2, but only cache-7731."
	if got := Redact(cut); got != "The log has: "+keyMark+"\nTake 2, but only cache-7731." {
		t.Errorf("of a cut key: %q", got)
	}
}
