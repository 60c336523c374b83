package fold_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// show renders a view as one line a message: its place in the conversation, or + for one that
// pleat inserts, and what is edited.
func show(l *fold.Layout) string {
	var b strings.Builder
	for _, m := range l.Render(&fold.Shown{}) {
		switch {
		case m.Source < 0:
			b.WriteString("+" + m.Made.Text())
		default:
			b.WriteByte(byte('0' + m.Source))
			for _, e := range m.Edits {
				b.WriteString(" " + e.Text)
				if e.Drop {
					b.WriteString("dropped")
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLayout(t *testing.T) {
	think := transcript.Thinking{Text: transcript.Plain("hm")}
	msgs := []transcript.Message{
		transcript.User("Go."),
		transcript.Assistant(think, transcript.Call("a", "bash", `{"command":"ls"}`)),
		transcript.Results(transcript.Result("a", "one\ntwo\n")),
		transcript.Assistant(think),
		transcript.User("More."),
		transcript.Assistant(transcript.Call("b", "bash", `{"command":"pwd"}`)),
		transcript.Results(transcript.Result("b", "here\n")),
	}
	span := func(start, end int, stub string) *fold.Fold {
		return &fold.Fold{Start: start, End: end, Block: -1, Stub: stub, Parts: fold.Parts{Stubs: 5}}
	}
	paired := span(1, 4, "summary")
	paired.Ack, paired.Then = "Understood.", "Continue."
	for _, tt := range []struct {
		name  string
		folds []*fold.Fold
		bare  int
		want  string
	}{
		{"nothing folded", nil, 0, "0\n1\n2\n3\n4\n5\n6\n"},
		{"a stretch", []*fold.Fold{span(1, 4, "page")}, 0, "0\n+page\n4\n5\n6\n"},
		{"a stretch without a stub", []*fold.Fold{span(1, 4, "")}, 0, "0\n4\n5\n6\n"},
		{"a pair", []*fold.Fold{paired}, 0, "0\n+summary\n+Understood.\n+Continue.\n4\n5\n6\n"},
		{"a message of its own", []*fold.Fold{span(4, 4, "pins")}, 0, "0\n1\n2\n3\n+pins\n4\n5\n6\n"},
		{"a block", []*fold.Fold{{Start: 2, End: 3, Block: 0, Stub: "stub"}}, 0, "0\n1\n2 stub\n3\n4\n5\n6\n"},
		{"thinking that goes, and a message that had nothing else", nil, 4, "0\n1 dropped\n2\n4\n5\n6\n"},
		{
			"a result whose call is folded",
			[]*fold.Fold{span(1, 6, "page")},
			0,
			"0\n+page\n+[pleat: the result of call 2 (bash pwd), whose call is folded above, came now: 1 line, 5 bytes. " +
				"Put here by a program, not typed by the user]\n",
		},
	} {
		in, err := fold.NewSet(tt.folds, tt.bare)
		difftest.Must(t, err)
		l := &fold.Layout{Source: pleattest.Source(msgs...), In: in, Head: fold.Parts{System: 100}}
		got := show(l)
		if got != tt.want {
			t.Errorf("%s:\n%swant\n%s", tt.name, got, tt.want)
		}
		parts, count := l.Parts()
		if count != strings.Count(tt.want, "\n") || parts.System < 100 {
			t.Errorf("%s: %d messages, %+v", tt.name, count, parts)
		}
	}
}

// TestSafe: a cut splits no round, and where a turn must begin with thinking it leaves none
// without.
func TestSafe(t *testing.T) {
	think := transcript.Thinking{Text: transcript.Plain("hm")}
	msgs := []transcript.Message{
		transcript.User("Go."),
		transcript.Assistant(think, transcript.Call("a", "bash", `{}`)),
		transcript.Results(transcript.Result("a", "one")),
		transcript.Assistant(transcript.Call("b", "bash", `{}`)),
		transcript.Results(transcript.Result("b", "two")),
	}
	for _, tt := range []struct {
		name  string
		first bool
		want  string
	}{
		{"rounds stay whole", false, "yy.y.y"},
		{"a turn begins with thinking", true, "yy...y"},
	} {
		l := &fold.Layout{Source: pleattest.Source(msgs...), ThinkFirst: tt.first}
		got := ""
		for _, ok := range l.Safe() {
			got += map[bool]string{true: "y", false: "."}[ok]
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
