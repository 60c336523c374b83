package lever_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

// What was masked before a page made room for it comes back, the newest first.
func TestRefill(t *testing.T) {
	steps := fold.Steps{
		lever.Aim{},
		lever.Mask{Keep: 1, All: true},
		lever.Snip{Above: 10, Head: 1, Tail: 8, Stub: "[{n} messages]"},
	}
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

// A result that does not fit whole is shown as far as there is room, whatever made it short:
// also one that no model has seen.
func TestRefillParts(t *testing.T) {
	s := open(t, 8_000, lever.Aim{}, lever.Mask{Keep: 1, All: true}, lever.Squeeze{}, lever.Refill{})
	say(t, s, transcript.User("Read all files. Never touch legacy/."))
	reads(t, s, 0, 3)
	say(t, s, round(3, "read_file", `{"path":"src/large.go"}`, 3_000)...)
	has(t, s, "bytes folded")
	if snap := s.Snapshot(); snap.Tokens < snap.Limits.Target*9/10 || snap.Tokens > snap.Limits.Max {
		t.Errorf("the view has %d tokens where %d are free, of at most %d", snap.Tokens,
			snap.Limits.Target, snap.Limits.Max)
	}
}

// Where the view has room, its page says more, also if the stretch was collapsed to less.
func TestFillPage(t *testing.T) {
	s := open(
		t,
		20_000,
		lever.Aim{},
		lever.Collapse{Rounds: 4, Keep: 4},
		lever.Digest{Keep: 4, Fill: true, Spare: 1},
		lever.Refill{},
	)
	say(t, s, transcript.User("Read all files. Never touch legacy/."))
	for n := range 12 {
		input := fmt.Sprintf(`{"path":"src/file%d.go"}`, n)
		id := fmt.Sprint("call_", n)
		var text strings.Builder
		for k := range 80 {
			fmt.Fprintf(&text, "func helper%d_%d(legacy string) error { return errors.New(%q) }\n",
				n, k, fmt.Sprint("number ", n*1000+k))
		}
		say(t, s, transcript.Assistant(transcript.Call(id, "read_file", input)),
			transcript.Results(transcript.Result(id, text.String())))
	}
	view(t, s)
	got := make(map[string]int)
	for _, f := range s.Report().Folds {
		if got[f.Lever]++; f.After >= f.Before {
			t.Errorf("a fold by %s makes %d tokens of %d", f.Lever, f.After, f.Before)
		}
	}
	if snap := s.Snapshot(); got["digest"] != 1 || snap.Tokens > snap.Limits.Target ||
		snap.Tokens < snap.Limits.Target*9/10 {
		t.Errorf("folds %v, %d tokens of %d", got, snap.Tokens, snap.Limits.Target)
	}
}
