package lever_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
)

func TestSupersede(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		lever  lever.Supersede
		want   string // results that are shown whole, of 9; 3 reads the file of 0 again
	}{
		{"stale results go", 6_000, lever.Supersede{Keep: 3}, "12345678"},
		{"the newest stay", 6_000, lever.Supersede{Keep: 9}, "012345678"},
		{"exempt tools stay", 6_000, lever.Supersede{Exempt: []string{"read_file"}}, "012345678"},
		{"not while there is room", 100_000, lever.Supersede{}, "012345678"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, 3, tt.window, tt.lever)
			say(t, s, round(3, "read_file", `{"path":"src/file0.go"}`, 100)...)
			reads(t, s, 4, 9)
			if got := shown(t, s, 9); got != tt.want {
				t.Errorf("results %q are shown, want %q", got, tt.want)
			}
			if tt.want[0] == '1' {
				has(t, s, "Call 4 made it stale")
			}
		})
	}
}
