package fold_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

func TestWarmPrefix(t *testing.T) {
	// A view: messages of one block and of weight 10; those from folded on are stubs.
	view := func(n int, folded ...int) transcript.View {
		v := transcript.Whole(n)
		for _, i := range folded {
			v.Messages[i].Edits = []transcript.BlockEdit{{Block: 0, Text: "stub"}}
		}
		return v
	}
	type want struct{ marker, found int }
	steps := func(from, to, by int, folded ...int) (out []transcript.View) {
		for n := from; n <= to; n += by {
			out = append(out, view(n, folded...))
		}
		return out
	}
	tests := []struct {
		name  string
		views []transcript.View
		want  want // of the last
	}{
		{"the first request", []transcript.View{view(3)}, want{}},
		{"one more round", []transcript.View{view(3), view(5)}, want{0, 3}},
		{"the same again", []transcript.View{view(3), view(3)}, want{0, 3}},
		{"more new blocks than the end looks back", []transcript.View{view(3), view(30)}, want{3, 3}},
		{
			"a fold: what is before it is found at the end of an earlier request",
			append(steps(2, 40, 2), view(42, 31)),
			want{31, 30},
		},
		{"the marker stays", append(steps(2, 40, 2), view(42, 31), view(44, 31)), want{31, 42}},
		{
			"a fold far behind what is cached: mark what is to be found next time",
			append(steps(2, 12, 2), view(80), view(82, 60)),
			want{60, 0},
		},
		{"unless what is cached is much more", append(steps(2, 50, 2), view(80), view(82, 72)), want{50, 50}},
		{"nothing is left", append(steps(2, 40, 2), view(42, 0)), want{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w fold.WarmPrefix
			var got want
			for _, v := range tt.views {
				got.marker, got.found = w.Next(v, func(int) (int, int) { return 1, 10 })
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
