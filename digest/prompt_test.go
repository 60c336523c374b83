package digest

import (
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
