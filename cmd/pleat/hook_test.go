package main

import (
	"strings"
	"testing"
)

// A page takes what the agent takes, and of a small window a part.
func TestHookMost(t *testing.T) {
	for window, want := range map[int]int{0: 24_000, 1_000: 2_000, 16_000: 8_000, 200_000: 24_000, -1: 24_000} {
		h := &hook{in: hookInput{Tokens: window}}
		if got := h.most(hookAgents["pi"]); got != want {
			t.Errorf("window %d: %d characters, want %d", window, got, want)
		}
	}
}

// Paths of Windows have spaces and backslashes, which shells and JavaScript take for something else.
func TestInsidePaths(t *testing.T) {
	const program = `C:\Program Files\pleat\pleat.exe`
	for system, want := range map[string]string{
		"windows": `"C:/Program Files/pleat/pleat.exe" hook compact --agent pi`,
		"linux":   `'C:\Program Files\pleat\pleat.exe' hook compact --agent pi || exit 0`,
	} {
		if got := shellCall(system, program, "compact", "pi"); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
	for _, name := range []string{"opencode", "pi"} {
		c := client{name: name, folder: "~/.x", file: "y.json"}
		changes, err := c.insideChanges(func(string) string { return t.TempDir() }, program)
		if err != nil || !strings.Contains(changes[0].text, `spawn("C:\\Program Files\\pleat\\pleat.exe",`) {
			t.Errorf("%s: %v\n%s", name, err, changes[0].text)
		}
	}
}
