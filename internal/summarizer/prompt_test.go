package summarizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/userwords"
)

// The writer is told which of the user's messages may lose their middle, and which stand whole. What
// an earlier digest has told it does not read.
func TestLongWordsAreNamed(t *testing.T) {
	j := &writer{Job: Job{Source: &Source{Need: Need{Start: 3, End: 11, Room: 800}, Msgs: make([]SourceMessage, 12)}}}
	j.Source.Msgs[2].Whole = true
	for i, n := range []int{10, 900, 399, 401, 5_000} {
		j.Source.Said = append(j.Source.Said, userwords.Said{Message: 2 * i, Text: strings.Repeat("x", n)})
	}
	if cut, whole := j.longWords(); cut != "7, 9" || whole != "3" {
		t.Errorf("cut are %q, whole are %q", cut, whole)
	}
	j.Source.First = 7
	if cut, whole := j.longWords(); cut != "9" || whole != "" {
		t.Errorf("after an earlier digest cut are %q, whole are %q", cut, whole)
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
