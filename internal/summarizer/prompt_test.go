package summarizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/userwords"
)

// The writer is told which of the user's messages may lose their middle.
func TestLongWordsAreNamed(t *testing.T) {
	j := &writer{Job: Job{Source: &Source{Need: Need{End: 9, Room: 800}}}}
	for i, n := range []int{10, 900, 399, 401, 5_000} {
		j.Source.Said = append(j.Source.Said, userwords.Said{Message: 2 * i, Text: strings.Repeat("x", n)})
	}
	if got := j.longWords(); got != "3, 7, 9" {
		t.Errorf("long are %q", got)
	}
}

// A digest that is too long even when a shorter one was asked for loses the ends of its longest
// sections.
func TestTrimmed(t *testing.T) {
	var b strings.Builder
	for _, n := range []int{3, 40, 10} {
		b.WriteString("### Section\n")
		for i := range n {
			fmt.Fprintf(&b, "- fact %d of %d\n", i, n)
		}
	}
	count := func(s string) int { return len(s) / 4 }
	for _, room := range []int{1, 20, 60, 100, 1_000} {
		got := trimmed(b.String(), room, count)
		if count(got) > room+room/gateSlack {
			t.Errorf("%d tokens in a room of %d", count(got), room)
		}
		if room >= 100 && !strings.Contains(got, "fact 2 of 3") || room == 1_000 && got != b.String() {
			t.Errorf("in %d tokens:\n%s", room, got)
		}
	}
}
