package lever_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
)

func TestNothing(t *testing.T) {
	s := started(t, 9, 6_000, lever.Nothing{})
	if got := shown(t, s, 9); got != "012345678" {
		t.Errorf("only results %s are shown", got)
	}
	if n := len(folds(t, s)); n != 0 {
		t.Errorf("%d levers folded something", n)
	}
}
