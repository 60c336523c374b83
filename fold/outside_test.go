package fold_test

import (
	"context"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// astray is a lever that asks for places outside of the conversation.
type astray struct{ t *testing.T }

func (astray) Name() string { return "astray" }

func (a astray) Pull(ctx context.Context, d *fold.Draft) error {
	end := d.Marks().End
	for _, at := range [][2]int{{-3, end + 3}, {end, end + 3}, {-3, 0}, {end + 1, end + 9}, {4, 2}} {
		start, stop := min(max(at[0], 0), end), min(max(at[0], at[1], 0), end)
		f, err := d.Span(ctx, at[0], at[1], a, "old")
		if err != nil {
			return err
		}
		if f.Start != start || f.End != stop || d.TokensIn(at[0], at[1]) != d.TokensIn(start, stop) {
			a.t.Errorf("%v is taken for %d to %d", at, f.Start, f.End)
		}
		if n := len(d.Calls(at[0], at[1])); (n > 0) != (start < stop) {
			a.t.Errorf("%v has %d calls", at, n)
		}
		if f.Stub = "[gone]"; start == stop && d.FoldSpan(f) {
			a.t.Errorf("%v is folded", at)
		}
		d.Pages().Ask(fold.Allotment{}, at[0], at[1], 1, fold.Ask{})
	}
	if d.Back(-3) != 0 || d.Back(end+3) != end {
		a.t.Errorf("places outside are moved to %d and %d", d.Back(-3), d.Back(end+3))
	}
	for _, ref := range []transcript.BlockRef{{Message: -1}, {Message: end}, {Message: 1, Block: 9}} {
		if _, err := d.Stub(ctx, ref, "", ""); err == nil || d.Maskable(ref, nil) || d.Show(ref, "x") {
			a.t.Errorf("there is no block %v: %v", ref, err)
		}
	}
	d.DropThinking(-3)
	d.DropThinking(end + 3)
	return nil
}

func (astray) MayFold([]int, fold.Limits) bool { return true }

func (a astray) Born(b *fold.Birth) {
	place := func(message, block int) transcript.BlockRef {
		return transcript.BlockRef{Message: message, Block: block}
	}
	for _, ref := range []transcript.BlockRef{ // of the message, 0 is text, 2 a result with what pleat does not know
		place(1, -1), place(1, 0), place(1, 2), place(1, 3), place(-1, 0), place(0, 0), place(0, 9), place(2, 0),
	} {
		if b.Fold(ref, "old", "", func(string, string) string { return "x" }) != nil {
			a.t.Errorf("%v is folded", ref)
		}
	}
	if b.Fold(place(1, 1), "old", "", func(string, string) string { return "x" }) == nil {
		a.t.Error("the result is not folded")
	}
}

// TestOutside: levers may ask for places and blocks that are not there.
func TestOutside(t *testing.T) {
	pleattest.Plan(t, 1_000, pleattest.Reading(5, 20), astray{t})
	strange := transcript.Result("8", "a long result that would be folded otherwise")
	strange.Parts = transcript.BlocksOf(append(strange.Parts.List(), transcript.Opaque{Type: "reference"})...)
	m := transcript.NewMessage(
		transcript.RoleUser, transcript.Say("Here it is."), transcript.Result("9", "a long result that can be folded"),
		strange,
	)
	p := &fold.Policy{Name: "p", AtBirth: fold.Steps{astray{t}}}
	if _, err := fold.AtBirth(t.Context(), pleattest.Source(transcript.User("Go.")), m, p, fold.BirthOptions{}); err != nil {
		t.Error(err)
	}
}
