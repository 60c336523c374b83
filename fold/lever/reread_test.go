package lever_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

// A file that was read again after each of two epochs is not folded a third time.
func TestKeepReread(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lever lever.KeepReread
		again bool // it is read once more, and has not changed: that result does not show it
		want  bool
	}{
		{"kept", lever.KeepReread{Files: 1, Tokens: 5_000}, false, true},
		{"kept though a newer read is short", lever.KeepReread{Files: 1, Tokens: 5_000}, true, true},
		{"too long to be kept", lever.KeepReread{Files: 1, Tokens: 10}, false, false},
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
			if tt.again {
				say(t, s, transcript.Assistant(transcript.Call("again", "read_file", `{"path":"src/file1.go"}`)),
					transcript.Results(transcript.Result("again", "[unchanged src/file1.go: it is as you read it]")))
			}
			p, err := s.Compact(t.Context(), "")
			difftest.Must(t, err)
			if !slices.Equal(p.Kept, []string{"src/file1.go"}) {
				t.Errorf("the plan keeps %q", p.Kept)
			}
			if got := slices.Contains([]byte(shown(t, s, n)), '6'); got != tt.want {
				t.Errorf("the newest read is shown: %v, want %v", got, tt.want)
			}
		})
	}
}

// idle is a digest that leaves the page in force as it is where it is told to.
type idle struct {
	lever.Digest
	now *bool
}

func (idle) Name() string { return "idle" }

func (l idle) Pull(ctx context.Context, d *fold.Draft) error {
	if *l.now {
		return nil
	}
	return l.Digest.Pull(ctx, d)
}

// A file that is read again after each epoch stands once in the view, also where a page that shows it stays in
// force, and where the next one ends before its newest read.
func TestReadAgainOnce(t *testing.T) {
	var stays bool
	s := started(t, 8, 100_000, lever.KeepReread{Files: 1, Tokens: 5_000},
		idle{lever.Digest{Keep: 3, Restore: fold.Restore{Files: 2}}, &stays})
	file := strings.Repeat("a line of result 1.\n", 100)
	for epoch := range 4 {
		stays = epoch == 2
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(strings.Join(view(t, s), "\n"), file); n != min(epoch, 1) {
			t.Errorf("after epoch %d the file stands %d times", epoch, n)
		}
		if id := fmt.Sprint("again_", epoch); epoch < 2 {
			say(t, s, transcript.Assistant(transcript.Call(id, "read_file", `{"path":"src/file1.go"}`)),
				transcript.Results(transcript.Result(id, file)), transcript.Assistant(transcript.Say("I see.")))
		}
		if epoch == 0 {
			reads(t, s, 8, 10)
		}
	}
}
