package lever_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// What was masked before a page made room for it comes back, the newest first.
func TestRefill(t *testing.T) {
	steps := fold.Steps{lever.Aim{}, lever.Mask{Keep: 1, All: true}, lever.Snip{Above: 10, Head: 1, Tail: 8, Stub: "[{n} messages]"}}
	without := shown(t, started(t, 12, 8_000, steps...), 10)
	with := shown(t, started(t, 12, 8_000, append(steps, lever.Refill{})...), 10)
	if without != "" || with == "" || with[len(with)-1] != '9' {
		t.Errorf("results %q are shown without refill and %q with it", without, with)
	}
	// Masks alone make no room, so nothing comes back.
	s := started(t, 9, 6_000, lever.Mask{Keep: 3, All: true}, lever.Refill{})
	if got := shown(t, s, 9); got != "678" {
		t.Errorf("results %q are shown, want 678", got)
	}
}
