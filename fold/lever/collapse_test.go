package lever_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/ledger"
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
			if got := strings.Count(all, "[pleat: a finished stretch of looking around is folded"); got != tt.want {
				t.Errorf("%d stretches, want %d:\n%s", got, tt.want, all)
			}
		})
	}
	refused(t, lever.Collapse{Rounds: -1}, "must not be negative")
}

// A folded stretch says that no user typed it, keeps what the assistant said as far as there
// is room, says what it leaves out, and has a handle for each call.
func TestCollapseKeepsWhatWasSaid(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words int // of each statement
		whole int // statements that stay whole, of 12
	}{
		{"all of them", 10, 12},
		{"long ones lose their middle", 200, 0},
		{"too many: the newest", 600, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := lever.Collapse{Rounds: 3}
			s := open(t, 200_000, lever.Aim{}, l)
			say(t, s, transcript.User("Find the leak."))
			var found []string
			for n := range 12 {
				found = append(
					found,
					fmt.Sprintf("Finding %d: the pool at %d leaks", n, n)+strings.Repeat(" and leaks", tt.words)+".",
				)
				id := fmt.Sprint("c", n)
				say(
					t,
					s,
					transcript.Assistant(
						transcript.Say(found[n]),
						transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/%d.go"}`, n)),
					),
					transcript.Results(transcript.Result(id, strings.Repeat(fmt.Sprintf("line of %d\n", n), 100))),
				)
			}
			say(t, s, transcript.Assistant(transcript.Say("I have seen enough.")))
			if _, err := s.Pull(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			stub := view(t, s)[1]
			if !strings.HasPrefix(stub, "[pleat: ") || !strings.Contains(stub, "not typed by the user") {
				t.Errorf("the stub does not say who wrote it:\n%s", stub)
			}
			whole, begun := 0, 0
			for n, f := range found {
				if strings.Contains(stub, f) {
					whole++
				}
				if strings.Contains(stub, fmt.Sprintf("Finding %d: ", n)) {
					begun++
				}
			}
			if whole != tt.whole || begun < 12 {
				t.Errorf("%d findings whole, %d begun, want %d and 12:\n%s", whole, begun, tt.whole, stub)
			}
			if whole < 12 && strings.Count(stub, " folded: unfold(") != 12-whole {
				t.Errorf("the stub does not say what is left out:\n%s", stub)
			}
			for _, e := range s.Ledger(ledger.Filter{}) {
				if e.Handle == "" || !strings.Contains(stub, "["+e.Handle+"]") {
					t.Errorf("call %d has no handle in\n%s", e.Seq, stub)
				}
			}
		})
	}
}
