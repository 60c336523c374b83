package fence_test

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/fence"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\nd\r":      "a\tb\nc\r\nd\r",
		"a\rb":                `a\u000db`,
		"a\v\f\u0085\u2028b":  `a\u000b\u000c\u0085\u2028b`,
		"\x1b[1E\b\x1c\u200b": `\u001b[1E\u0008\u001c` + "\u200b",
		"\xff\x00é":           "\xff" + `\u0000é`,
	} {
		if got := fence.Shown(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
