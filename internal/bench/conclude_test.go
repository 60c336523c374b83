package bench

import (
	"slices"
	"strings"
	"testing"
)

// Each statement of the conclusion is one of figures that are written down here.
func TestConclusion(t *testing.T) {
	cell := func(arm string, budget int, files, words float64) Cell {
		return Cell{
			Arm:    arm,
			Budget: budget,
			Chain:  1,
			Views:  1,
			Means:  map[Family]Shares{Artifacts: {Score: files}, HumanWords: {Score: words}},
		}
	}
	r := &Report{
		Cells: []Cell{
			cell("default", 8000, 4, 5), cell("tail", 8000, 4.5, 1), cell("none", 8000, 5, 5),
			cell("default", 2000, 3, 5), cell("tail", 2000, 2, 1), cell("none", 2000, 5, 5),
		},
		Money: []Money{
			{Arm: "default", Prices: "a", Sessions: 1, Total: 0.8},
			{Arm: "default", Prices: "b", Sessions: 1, Total: 0.6},
			{Arm: "tail", Prices: "a", Sessions: 1, Total: 0.5},
			{Arm: "tail", Prices: "b", Sessions: 1, Total: 0.6},
		},
	}
	want := []string{
		"default keeps most: its mean mark is 4.25 of 5; next is tail with 2.12.",
		"tail is the cheapest: long sessions cost 0.55 of what they cost without compaction; default: 0.70.",
		"default is behind in 1 of 4 marks, most in files, views of 8,000 tokens, one compaction: 4.00, tail 4.50.",
	}
	if got := r.conclusion(); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}

	r.Cells[1].Means[Artifacts], r.Money = Shares{Score: 3}, nil
	want[1] = "Nothing can be said about cost: it was not simulated on any long session."
	want[2] = "default is behind in none of 4 marks."
	if got := r.conclusion(); !slices.Equal(got[1:], want[1:]) {
		t.Errorf("got %q, want %q", got[1:], want[1:])
	}
	if got := new(Report).conclusion(); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}
