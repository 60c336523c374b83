package annotate

import (
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// TestView: who speaks in what is left of a block is who spoke there in all of it.
func TestView(t *testing.T) {
	const mark, shut = "\n[… folded …]", "</system-reminder>"
	for _, c := range []struct {
		whole, left string
		want        []string // what the user says
	}{
		{"<system-reminder>a\nb\nc\n" + shut, "<system-reminder>a" + mark, nil},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark, nil},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark + "\nGo on.", []string{"Go on."}},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark + "\non.", []string{"on."}},
		{"Go on.\n<system-reminder>a\nb" + shut, "Go on.\n<system-reminder>a" + mark, []string{"Go on."}},
		{"Go on.\n<system-reminder>a\nb" + shut, "Go" + mark + "\nb" + shut, []string{"Go"}},
		{
			"One. Two. Three. Four.\n<system-reminder>a" + shut, "One." + mark + "Three." + mark + " Four.\n<system-reminder>a" + shut,
			[]string{"One." + mark + "Three." + mark + " Four."},
		},
		{"Über ä.\n<system-reminder>a\nb" + shut, "Über ö" + mark, []string{"Über"}},
		{"One. Two.", "One." + mark, []string{"One." + mark}},
		{"Go.\n<system-reminder>a\nb" + shut + "\nOn.", "Go.\n<system-reminder>a" + mark, []string{"Go."}},
	} {
		view := transcript.View{Messages: []transcript.ViewMessage{{Edits: []transcript.BlockEdit{{Text: c.left}}}}}
		whole := transcript.User(c.whole)
		msgs, err := view.Resolve(func(int) transcript.Message { return whole })
		if err != nil {
			t.Fatal(err)
		}
		spoken, err := AttributedView(view, msgs, func(int) (transcript.Message, error) { return whole, nil })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range spoken[0].Blocks().All() {
			if b.Kind() == transcript.KindText && spoken[0].Role() == transcript.RoleUser {
				got = append(got, transcript.BlockText(b))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the user says %q in %q, left of %q", got, c.left, c.whole)
		}
	}
}
