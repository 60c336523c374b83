package lever

import (
	"strings"
	"testing"
)

// A text that is shortened says what it was about, also where the words that say how to get
// it back take all the room, and is left alone where that makes it no shorter.
func TestShortText(t *testing.T) {
	count := func(s string) int { return len(s) / 4 }
	mark := func(int) string {
		return "[… folded: read " + strings.Repeat("/a/long/name/of/a/directory", 10) + ".txt …]"
	}
	got := shortText("Port the parser to C. "+strings.Repeat("Leave the lexer. ", 40), 60, count, mark)
	if !strings.HasPrefix(got, "Port the parser") || !strings.HasSuffix(got, mark(0)) {
		t.Errorf("a long text became %q", got)
	}
	if got := shortText("Port the parser to C. "+strings.Repeat("Leave the lexer. ", 15), 60, count, mark); got != "" {
		t.Errorf("a text that is hardly longer than the mark became %q", got)
	}
	dear := func(s string) int { return 1 + 10*strings.Count(s, "日") } // a longer text may cost less
	long := strings.Repeat("a", 60) + "日日日日" + strings.Repeat("a", 30)
	if got := shortText(long, 35, dear, func(int) string { return "[… folded: unfold it …]" }); got != "" {
		t.Errorf("a text became a longer one: %q", got)
	}
}
