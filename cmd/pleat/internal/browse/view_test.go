package browse

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
)

// A branch opens, what is behind a folded line is shown as the model sees it and as it was,
// and q goes back and out.
func TestBrowse(t *testing.T) {
	folded := &branch{
		depth: 1, what: "3 tool result", tokens: 900,
		text: "all\tof it" + strings.Repeat("\nand more", 30) + "\nthe end",
		fold: &fold.Fold{Lever: "mask", Stub: "[folded]", Handle: "h1"},
	}
	b := &browser{name: "a session", tree: &branch{kids: []*branch{
		{what: "first words", kids: []*branch{{depth: 1, what: "1 text", text: "first words"}}},
		{what: "second words", kids: []*branch{folded}},
	}}}
	v := &browseView{browser: b}
	press := func(names ...string) (cmd tea.Cmd) {
		for _, name := range names {
			k := tea.KeyPressMsg{Text: name}
			for code, special := range map[rune]string{
				tea.KeyDown: "down", tea.KeyRight: "right", tea.KeyEnter: "enter",
				tea.KeyLeft: "left",
			} {
				if name == special {
					k = tea.KeyPressMsg{Code: code}
				}
			}
			_, cmd = v.Update(k)
		}
		return cmd
	}
	shows := func(want string, yes bool) {
		t.Helper()
		if text := ansi.Strip(v.View().Content); strings.Contains(text, want) != yes {
			t.Errorf("shown %v: %q is in\n%s", !yes, want, text)
		}
	}
	v.Update(tea.WindowSizeMsg{Width: 40, Height: 8})
	shows("second words", true)
	shows("tool result", false)
	press("down", "right")
	shows("⤓ mask", true)
	press("down", "enter")
	shows("[folded]", true)
	v.Update(tea.WindowSizeMsg{Width: 100, Height: 8})
	shows("handle", false) // of what nothing stored
	b.stored = true
	shows("mask of message 1: 0 → 0 tokens, handle h1", true)
	v.Update(tea.WindowSizeMsg{Width: 40, Height: 8})
	press("u")
	shows("all    of it", true)
	press("?", "?")
	shows("Keys", true)
	press("q")
	shows("all    of it", true)
	press("q")
	shows("first words", true)
	press("left")
	shows("tool result", false)
	press("/", "o", "f", " ", "I")
	shows("/of I", true)
	press("enter", "enter")
	shows("all    of it", true)
	shows("the end", false)
	press("/", "T", "h", "e", " ", "e", "enter")
	shows("the end", true)
	press("/", "z", "enter")
	shows("not found here: z", true)
	press("q", "n", "?")
	shows("Keys", true)
	press("q", "/", "z", "q", "enter")
	shows("not found: zq", true)
	press("home")
	shows("not found", false)
	press("/", "s", "e", "c", "o", "n", "d", "enter", "n")
	shows("found nowhere else: second", true)
	press("/", "w", "o", "r", "d", "s", "enter")
	shows("on from the other end", true)
	if cmd := press("q"); cmd == nil {
		t.Error("q does not end it")
	}
	for _, line := range strings.Split(v.View().Content, "\n") {
		if term.Columns(line) > 40 {
			t.Errorf("%q is wider than the screen", line)
		}
	}
}
