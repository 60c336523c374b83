package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Handles are added to what fits without them: that of a change, else of the result, and of both for a
// command, which may show something besides.
func TestRenderHandles(t *testing.T) {
	l := ledgerOf(editCall("a.go"), editCall("b.go"), editCall("a.go"), bashCall("go test ./...", "ok"),
		bashCall("cat a.go; echo x > c.go", "package a"))
	facts := make(transcript.Facts, 10)
	for i := range facts {
		facts[i].Blocks = []transcript.BlockFacts{{Handle: transcript.HandleOf(uint64(i+1)<<56, transcript.HandleLen)}}
	}
	h := func(i int) string { return facts[i].Blocks[0].Handle.String() }
	lines := []string{
		"#1 edit a.go: ok", h(0), "#2 edit b.go: ok", h(2), "#3 edit a.go: ok", h(4), "./...: ok", h(7),
		"> c.go: ok", h(8) + ", result " + h(9),
	}
	for budget := 1000; budget > 10; budget /= 2 {
		o := ledger.RenderOptions{UpTo: 100, Budget: budget}
		want := l.Render(o)
		for i := 0; i < len(lines); i += 2 {
			want = strings.ReplaceAll(want, lines[i]+"\n", lines[i]+" ["+lines[i+1]+"]\n")
		}
		o.Facts = facts
		if got := l.Render(o); got != want || budget == 1000 && strings.Count(got, "[") != 5 {
			t.Errorf("in %d tokens:\n%s\nwant\n%s", budget, got, want)
		}
	}
	if calls := l.Changed()[0].Calls; fmt.Sprint(calls) != "[1 3]" {
		t.Errorf("a.go was changed by %v", calls)
	}
}
