package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestTruncate(t *testing.T) {
	s := started(t, 9, 6_000, lever.Truncate{})
	got := view(t, s)
	if !strings.Contains(got[0], "Read all files.") || strings.Contains(strings.Join(got, "\n"), "[folded") {
		t.Errorf("the first message is gone, or there is a stub:\n%.500s", strings.Join(got, "\n"))
	}
	if shown := shown(t, s, 9); !strings.HasSuffix("012345678", shown) || len(shown) > 6 || shown == "" {
		t.Errorf("results %q are shown, want the newer half", shown)
	}
	// Where somebody spoke later, the view can begin there.
	s = open(t, 6_000, lever.Truncate{})
	say(t, s, transcript.User("First."))
	reads(t, s, 0, 5)
	say(t, s, transcript.Assistant(transcript.Say("Done.")), transcript.User("Second."))
	reads(t, s, 5, 9)
	if got := view(t, s); got[0] != "Second.\n" {
		t.Errorf("the view begins with %q", got[0])
	}
}
