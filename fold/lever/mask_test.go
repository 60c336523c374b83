package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		lever  lever.Mask
		want   string // results that are shown whole, of 9
	}{
		{"until it is no longer red", 6_000, lever.Mask{Keep: 1}, "345678"},
		{"all at once", 6_000, lever.Mask{Keep: 3, All: true}, "678"},
		{"not while there is room", 100_000, lever.Mask{Keep: 3}, "012345678"},
		{"short results stay", 6_000, lever.Mask{Keep: 1, Min: 5_000, All: true}, "012345678"},
		{"exempt tools stay", 6_000, lever.Mask{Keep: 1, Exempt: []string{"read_file"}, All: true}, "012345678"},
		{"what no model has seen stays", 6_000, lever.Mask{All: true}, "8"},
		{"unless it is wanted too", 6_000, lever.Mask{All: true, Unseen: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, 9, tt.window, tt.lever)
			if got := shown(t, s, 9); got != tt.want {
				t.Errorf("results %q are shown, want %q", got, tt.want)
			}
		})
	}
	refused(t, lever.Mask{Keep: -1}, "must not be negative")
}

func TestMaskStub(t *testing.T) {
	s := started(t, 9, 6_000, lever.Mask{Keep: 3, All: true, Stub: "<{tool} {call_id}>"})
	has(t, s, "<read_file call_0>")
	s = started(t, 9, 6_000, lever.Mask{Keep: 3, All: true})
	has(t, s, "[folded: read_file src/file0.go, 100 lines, ")
}

// Where folding saves money, a mask folds although there is room.
func TestMaskPays(t *testing.T) {
	s := openWith(t, &pleat.Options{Policy: fold.Policy{Name: "test", WhenItPays: fold.Steps{lever.Mask{Keep: 1}}}})
	say(t, s, transcript.User("Read all files."))
	reads(t, s, 0, 40)
	if got := shown(t, s, 40); got == "" || strings.HasPrefix(got, "012345678910") {
		t.Errorf("results %q are shown, want some of the newest", got)
	}
	has(t, s, "[folded: read_file src/file")
}
