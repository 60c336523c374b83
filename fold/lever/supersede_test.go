package lever_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
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
				has(t, s, "Call 4 has a newer result")
			}
		})
	}
}

// Only a change makes a result stale. A file that was read again may still be the same, and a
// failure that was mended is not shown again.
func TestSupersedeSaysWhy(t *testing.T) {
	same := strings.Repeat("package a // nothing changed\n", 100)
	read := func(n int, result string) []transcript.Message {
		id := fmt.Sprint("r", n)
		return []transcript.Message{
			transcript.Assistant(
				transcript.Call(id, "read_file", `{"path":"a.go"}`),
			), transcript.Results(transcript.Result(id, result)),
		}
	}
	failing := strings.Repeat("a_test.go:7: got 1, want 2\n", 100) + "--- FAIL: TestA (0.00s)\nFAIL\n"
	run := func(n int, result string) []transcript.Message {
		id := fmt.Sprint("b", n)
		return []transcript.Message{
			transcript.Assistant(
				transcript.Call(id, "bash", `{"command":"go test ./..."}`),
			), transcript.Results(transcript.Result(id, result)),
		}
	}
	change := []transcript.Message{
		transcript.Assistant(
			transcript.Call("w", "write_file", `{"path":"a.go","content":"package a"}`),
		), transcript.Results(transcript.Result("w", "ok")),
	}
	for _, tt := range []struct {
		name  string
		first []transcript.Message
		later []transcript.Message
		want  string
	}{
		{"the same", read(1, same), read(2, same), "Call 2 gave the same again"},
		{"another text", read(1, same), read(2, strings.Replace(same, "a", "b", 1)), "Call 2 has a newer result"},
		{"changed", read(1, same), change, "Call 2 made it stale"},
		{"mended", run(1, failing), run(2, "ok"), "Call 2 ran it again and it succeeded"},
		{"failed again", run(1, failing), run(2, failing+"2 tests failed\nFAIL\n"), "Call 2 has a newer result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, 100_000, lever.Aim{})
			say(t, s, transcript.User("Read a.go."))
			say(t, s, tt.first...)
			say(t, s, tt.later...)
			say(t, s, transcript.Assistant(transcript.Say("Done.")))
			if _, err := s.Pull(t.Context(), lever.Supersede{}); err != nil {
				t.Fatal(err)
			}
			has(t, s, tt.want)
			if all := strings.Join(view(t, s), "\n"); !strings.Contains(tt.want, "stale") &&
				strings.Contains(all, "stale") {
				t.Errorf("the view calls something stale:\n%s", all)
			}
		})
	}
}
