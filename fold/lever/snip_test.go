package lever_test

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestSnip(t *testing.T) {
	snip := lever.Snip{Above: 10, Head: 3, Tail: 4, Stub: "[{n} messages]"}
	main := snip
	main.Main = true
	for _, tt := range []struct {
		name  string
		lever lever.Snip
		child bool
		want  string // results that are shown, of 9
	}{
		{"the middle goes", snip, false, "078"},
		{"only in the main conversation", main, true, "012345678"},
		{"and there it does", main, false, "078"},
		{"not so many messages", lever.Snip{Above: 100, Head: 3, Tail: 4, Stub: "x"}, false, "012345678"},
		{"off", lever.Snip{Stub: "x"}, false, "012345678"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openWith(t,
				&pleat.Options{Policy: fold.Policy{Name: "test", EveryTurn: fold.Steps{tt.lever}}, Child: tt.child})
			say(t, s, transcript.User("Read all files."))
			reads(t, s, 0, 9)
			if got := shown(t, s, 9); got != tt.want {
				t.Errorf("results %q are shown, want %q", got, tt.want)
			}
			if tt.want == "078" {
				has(t, s, "[12 messages]")
			}
		})
	}
	refused(t, lever.Snip{Tail: -1}, "must not be negative")
}
