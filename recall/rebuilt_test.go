package recall

import (
	"math"
	"testing"
)

// Lines far down keep their numbers and are found by them.
func TestKnownFarDown(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    UnfoldRequest
		want string
	}{
		{"all", UnfoldRequest{}, "9000000\tfar\n9000001\t\n"},
		{"from", UnfoldRequest{From: 9_000_001}, "9000001\t\n"},
		{"to", UnfoldRequest{To: 9_000_000}, "9000000\tfar\n"},
		{"before them", UnfoldRequest{To: 8_999_999}, ""},
		{"to the end", UnfoldRequest{From: 9_000_000, To: math.MaxInt}, "9000000\tfar\n9000001\t\n"},
		{"by a pattern", UnfoldRequest{Pattern: "^$", Around: -1}, "9000001\t\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := Unfolded{text: "far\n\n", before: 8_999_999}
			if err := u.choose(tt.r, nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := renderLines(u.Shown); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
