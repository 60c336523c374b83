package lever_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

// Squeeze makes a view that fits, whatever fills the window, and keeps the newest words.
func TestSqueeze(t *testing.T) {
	long := strings.Repeat("some words that fill the window ", 2_000)
	input, _ := json.Marshal(map[string]string{"path": "a.txt", "content": long})
	const words = "Never touch legacy/."
	for _, tt := range []struct {
		name string
		msgs []transcript.Message
	}{
		{"results", []transcript.Message{
			transcript.User(words), transcript.Assistant(transcript.Call("a", "bash", `{"command":"make"}`)),
			transcript.Results(transcript.Result("a", long)),
		}},
		{"a call's input", []transcript.Message{
			transcript.User(words), transcript.Assistant(transcript.Call("a", "write_file", string(input))),
			transcript.Results(transcript.Result("a", "ok")),
		}},
		{"what the assistant said", []transcript.Message{
			transcript.User("Hello."), transcript.Assistant(transcript.Say(long)), transcript.User(words),
		}},
		{
			"the head",
			[]transcript.Message{
				transcript.User(long), transcript.Assistant(transcript.Say("Yes?")), transcript.User(words),
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, 4_000, lever.Squeeze{})
			say(t, s, tt.msgs...)
			has(t, s, words)
			if snap := s.Snapshot(); snap.Tokens > snap.Limits.Max {
				t.Errorf("%d tokens do not fit into %d", snap.Tokens, snap.Limits.Max)
			}
		})
	}
}

// It gives up old results first, and no more than it must.
func TestSqueezeGently(t *testing.T) {
	s := started(t, 9, 6_000, lever.Squeeze{})
	if got := shown(t, s, 9); got != "345678" {
		t.Errorf("results %q are shown, want all but the oldest three", got)
	}
	if got := len(view(t, s)); got != 19 {
		t.Errorf("the view has %d messages, want all 19", got)
	}
}

// Where the user's newest words stand beside results that are too long, the results are cut
// and keep their place.
func TestSqueezeBesideWords(t *testing.T) {
	s := open(t, 4_000, lever.Squeeze{})
	say(
		t,
		s,
		transcript.User("Hello."),
		transcript.Assistant(
			transcript.Call("a", "bash", `{"command":"make"}`),
			transcript.Call("b", "bash", `{"command":"make test"}`),
		),
		transcript.NewMessage(
			transcript.RoleUser,
			transcript.Result("a", "a short result"),
			transcript.Result("b", strings.Repeat("some words that fill the window ", 2_000)),
			transcript.Say("Never touch legacy/."),
		),
	)
	has(t, s, "a short result", "bytes folded", "Never touch legacy/.")
	if got := len(view(t, s)); got != 3 {
		t.Errorf("the view has %d messages, want all 3", got)
	}
}
