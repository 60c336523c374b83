package lever_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

func TestAim(t *testing.T) {
	mask := lever.Mask{Keep: 1}
	without := started(t, 9, 6_000, mask)
	with := started(t, 9, 6_000, lever.Aim{}, mask)
	view(t, without)
	view(t, with)
	l := with.Snapshot().Limits
	if n := without.Snapshot().Tokens; n >= l.Red || n <= l.Target {
		t.Errorf(
			"without aim the view has %d tokens, want fewer than red, %d, and more than the target, %d",
			n,
			l.Red,
			l.Target,
		)
	}
	if n := with.Snapshot().Tokens; n > l.Target {
		t.Errorf("with aim the view has %d tokens, want at most the target, %d", n, l.Target)
	}
}

// Asked for room, aim makes some although there is enough.
func TestAimAsked(t *testing.T) {
	for _, tt := range []struct {
		steps fold.Steps
		want  string // results that are shown whole, of 30
	}{
		{fold.Steps{lever.Mask{Keep: 1}}, "0"},
		{fold.Steps{lever.Aim{}, lever.Mask{Keep: 1}}, ""},
	} {
		s := started(t, 30, 100_000, tt.steps...)
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if got := shown(t, s, 1); got != tt.want {
			t.Errorf("%s: of the oldest results %q are shown, want %q", tt.steps, got, tt.want)
		}
	}
}
