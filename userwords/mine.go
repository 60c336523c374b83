package userwords

import (
	"strings"
)

// WithoutReminder drops what a client appends to results for its model: it is about the
// moment, not about the file.
func WithoutReminder(text string) string {
	const mark, end = "<system-reminder>", "</system-reminder>"
	if !strings.HasSuffix(strings.TrimSpace(text), end) {
		return text
	}
	if i := strings.LastIndex(text, mark); i >= 0 {
		return strings.TrimRight(text[:i], " \r\n")
	}
	return text
}
