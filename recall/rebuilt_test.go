package recall

import (
	"math"
	"testing"

	"github.com/pleat-dev/pleat/internal/filestate"
)

// Lines far down cost no more than others, keep their numbers, and are found by them.
func TestKnownFarDown(t *testing.T) {
	f := &filestate.File{}
	f.See(1, 9_000_000, "far\n\n", false)
	f.See(2, 3, "near\n", false)
	for _, tt := range []struct {
		name string
		r    UnfoldRequest
		want string
	}{
		{"all", UnfoldRequest{}, "3\tnear\n…\n9000000\tfar\n9000001\t\n"},
		{"from", UnfoldRequest{From: 4}, "9000000\tfar\n9000001\t\n"},
		{"to", UnfoldRequest{To: 8_999_999}, "3\tnear\n"},
		{"to the end", UnfoldRequest{From: 9_000_000, To: math.MaxInt}, "9000000\tfar\n9000001\t\n"},
		{"by a pattern", UnfoldRequest{Pattern: "^$", Around: -1}, "9000001\t\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var u Unfolded
			u.known(f)
			if len(u.text) > 100 {
				t.Fatalf("%d bytes", len(u.text))
			}
			if err := u.choose(tt.r, nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := renderLines(u.Shown); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
