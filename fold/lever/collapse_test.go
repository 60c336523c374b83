package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestCollapse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lever lever.Collapse
		speak int // somebody speaks before this round
		want  int // stretches
	}{
		{"one stretch of looking around", lever.Collapse{Rounds: 3, Keep: 2}, -1, 1},
		{"somebody speaks in between", lever.Collapse{Rounds: 3, Keep: 2}, 4, 2},
		{"too few rounds", lever.Collapse{Rounds: 9, Keep: 2}, -1, 0},
		{"all of them are kept", lever.Collapse{Rounds: 3, Keep: 20}, -1, 0},
		{"off", lever.Collapse{}, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, 100_000, lever.Aim{}, tt.lever)
			say(t, s, transcript.User("Read all files."))
			for n := range 9 {
				if n == tt.speak {
					say(t, s, transcript.Assistant(transcript.Say("Shall I go on?")), transcript.User("Yes, go on."))
				}
				reads(t, s, n, n+1)
			}
			if _, err := s.Pull(t.Context(), tt.lever); err != nil {
				t.Fatal(err)
			}
			all := strings.Join(view(t, s), "\n")
			if got := strings.Count(all, "[folded: a finished stretch of looking around"); got != tt.want {
				t.Errorf("%d stretches, want %d:\n%s", got, tt.want, all)
			}
		})
	}
	refused(t, lever.Collapse{Rounds: -1}, "must not be negative")
}

// With Only, no digest is made at red.
func TestCollapseOnly(t *testing.T) {
	steps := func(only bool) fold.Steps {
		return fold.Steps{lever.Collapse{Rounds: 99, Only: only}, lever.Digest{Keep: 2}}
	}
	for _, only := range []bool{false, true} {
		s := started(t, 9, 6_000, steps(only)...)
		view(t, s)
		if digested := s.Snapshot().Epoch > 0; digested == only {
			t.Errorf("only = %v: digested = %v", only, digested)
		}
	}
}
