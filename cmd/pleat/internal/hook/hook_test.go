package hook

import (
	"testing"
)

// A page takes what the agent takes, and of a small window a part.
func TestHookMost(t *testing.T) {
	for window, want := range map[int]int{0: 24_000, 1_000: 2_000, 16_000: 8_000, 200_000: 24_000, -1: 24_000} {
		h := &hook{in: input{Tokens: window}}
		if got := h.most(agents["pi"]); got != want {
			t.Errorf("window %d: %d characters, want %d", window, got, want)
		}
	}
}
