package lever_test

import (
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
)

// A file that was read again after each of two epochs is not folded a third time.
func TestKeepReread(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lever lever.KeepReread
		want  bool
	}{
		{"kept", lever.KeepReread{Files: 1, Tokens: 5_000}, true},
		{"too long to be kept", lever.KeepReread{Files: 1, Tokens: 10}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, 3, 100_000, tt.lever, lever.Mask{All: true})
			n := 3
			for range 2 {
				if _, err := s.Compact(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				say(t, s, round(n, "read_file", `{"path":"src/file1.go"}`, 100)...)
				reads(t, s, n+1, n+3)
				n += 3
			}
			p, err := s.Compact(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Kept, []string{"src/file1.go"}) {
				t.Errorf("the plan keeps %q", p.Kept)
			}
			if got := slices.Contains([]byte(shown(t, s, n)), '6'); got != tt.want {
				t.Errorf("the newest read is shown: %v, want %v", got, tt.want)
			}
		})
	}
}
