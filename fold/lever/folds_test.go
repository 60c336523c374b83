package lever_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// TestFolds asserts which folds each lever makes of a slice of messages: of a conversation of
// 19 messages, in which nine files are read, in a window that it does not fit into.
func TestFolds(t *testing.T) {
	const window = 6_000
	read := pleattest.Reading(9, 100)
	again := append(slices.Clone(read), pleattest.Round(9, "read_file", `{"path":"src/file2.go"}`, 100)...)
	long := append([]transcript.Message{transcript.User(strings.Repeat("A long plan. ", 2_000))}, read[1:]...)
	for _, tt := range []struct {
		name   string
		msgs   []transcript.Message
		levers []fold.Lever
		want   []string
	}{
		{"nothing", read, []fold.Lever{lever.Nothing{}}, nil},
		{"aim alone", read, []fold.Lever{lever.Aim{}}, nil},
		{"mask stops when the view is no longer red", read, []fold.Lever{lever.Mask{Keep: 3}}, blocks("mask", 2, 4, 6)},
		{
			"mask goes on to the target", read,
			[]fold.Lever{lever.Aim{}, lever.Mask{Keep: 3}},
			blocks("mask", 2, 4, 6, 8, 10, 12),
		},
		{"mask leaves the newest", read, []fold.Lever{lever.Mask{Keep: 7, All: true}}, blocks("mask", 2, 4)},
		{
			"mask leaves what no model has seen", read,
			[]fold.Lever{lever.Mask{All: true}},
			blocks("mask", 2, 4, 6, 8, 10, 12, 14, 16),
		},
		{
			"mask may fold unseen results", read,
			[]fold.Lever{lever.Mask{All: true, Unseen: true}},
			blocks("mask", 2, 4, 6, 8, 10, 12, 14, 16, 18),
		},
		{"supersede", again, []fold.Lever{lever.Supersede{Keep: 1}}, blocks("supersede", 6)},
		{"shorten", long, []fold.Lever{lever.Shorten{Typed: 3}}, blocks("shorten", 0)},
		{"collapse", read, []fold.Lever{lever.Collapse{Rounds: 3, Keep: 4}}, []string{"collapse 1-7"}},
		{
			"snip", read,
			[]fold.Lever{lever.Snip{Above: 8, Head: 1, Tail: 4, Stub: "[{n} messages]"}},
			[]string{"snip 1-15"},
		},
		{"snip with a page", read, []fold.Lever{lever.Snip{Above: 8, Head: 1, Tail: 4}}, []string{"snip 1-15"}},
		{"digest", read, []fold.Lever{lever.Digest{Keep: 4}}, []string{"digest 1-15"}},
		{
			"digest fills the room", read,
			[]fold.Lever{lever.Aim{}, lever.Digest{Keep: 4, Fill: true}},
			[]string{"digest 1-13"},
		},
		{"summarize without a model", read, []fold.Lever{lever.Summarize{Keep: 4}}, []string{"summarize 1-15"}},
		{"truncate", read, []fold.Lever{lever.Truncate{}}, []string{"truncate 1-9"}},
		{"squeeze folds results first", read, []fold.Lever{lever.Squeeze{}}, blocks("squeeze", 2, 4, 6)},
		{
			"refill shows again what a page made room for", read,
			[]fold.Lever{lever.Aim{}, lever.Mask{Keep: 1, All: true}, lever.Digest{Keep: 8, Spare: 2}, lever.Refill{}},
			[]string{"digest 1-11", "mask 12.0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pleattest.Plan(t, window, tt.msgs, tt.levers...)
			if d := difftest.Values(tt.want, pleattest.Folds(p)); d != "" {
				t.Errorf("(-want +got):\n%s%s", d, p)
			}
			for _, f := range p.Folds {
				if f.After >= f.Before || f.Handle == "" || f.Hash.IsZero() || f.Stub == "" && f.Lever != "truncate" {
					t.Errorf("%s: %d → %d tokens, handle %q", f.Lever, f.Before, f.After, f.Handle)
				}
			}
		})
	}
}

// blocks names folds of the first block of messages.
func blocks(lever string, messages ...int) []string {
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s %d.0", lever, m))
	}
	return out
}

// TestKeepRereadFolds: a file that was read again after each of the last two epochs stays whole.
func TestKeepRereadFolds(t *testing.T) {
	msgs := pleattest.Reading(4, 100)
	for i := range 2 {
		msgs = append(msgs, pleattest.Round(10+i, "read_file", `{"path":"src/file1.go"}`, 100)...)
	}
	msgs = append(msgs, pleattest.Round(20, "read_file", `{"path":"src/last.go"}`, 100)...)
	o := fold.PlanOptions{Limits: fold.Budget{Window: 3_000}.Limits(), Past: fold.Past{Epochs: []int{9, 11}}}
	p := pleattest.PlanWith(t, o, msgs, lever.KeepReread{Files: 5, Tokens: 5_000}, lever.Mask{All: true})
	difftest.Equal(t, blocks("mask", 2, 4, 6, 8, 10), pleattest.Folds(p))
	difftest.Equal(t, []string{"src/file1.go"}, p.Kept)
}
