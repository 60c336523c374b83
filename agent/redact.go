package agent

import "github.com/pleat-dev/pleat/internal/secrets"

// RedactSecrets takes secrets of known shapes out of a text: private keys, keys and tokens
// of AWS, GitHub, GitLab, Anthropic, OpenAI, Slack, Google, Stripe, npm, PyPI, Hugging
// Face and SendGrid, JSON web tokens, authorization headers, passwords in URLs. In their
// place it puts what they were. The same text always gives the same result, and redacting
// twice is redacting once. Secrets without a shape of their own are not found.
func RedactSecrets(text string) string { return secrets.Redact(text) }

// KeepSecrets changes nothing: for [Options.Redact], to switch redaction off.
func KeepSecrets(text string) string { return text }
