package fold_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// greedy is a lever that tries what no lever may do.
type greedy struct {
	t *testing.T
}

func (greedy) Name() string { return "greedy" }

func (g greedy) Pull(ctx context.Context, d *fold.Draft) error {
	for i, m := range d.Facts() {
		for b, f := range m.Blocks {
			ref := transcript.BlockRef{Message: i, Block: b}
			switch {
			case i < d.Marks().Prompt:
				if d.FoldBlock(ref, g, "long", "[cut]") != nil {
					g.t.Errorf("the system prompt is folded")
				}
			case f.Kind == transcript.KindToolCall:
				if d.FoldBlock(ref, g, "long", "[cut]") != nil {
					g.t.Errorf("the input of the call in message %d is no JSON", i)
				}
			}
		}
	}
	for _, ref := range []transcript.BlockRef{{Message: -1}, {Message: d.Marks().End}, {Message: 1, Block: 9}} {
		if d.FoldBlock(ref, g, "long", "x") != nil {
			g.t.Errorf("%v is folded, which is not there", ref)
		}
	}
	if d.FoldSpan(nil) || d.FoldSpan(&fold.Fold{Start: 2, End: 6, Stub: "[gone]"}) {
		g.t.Error("a stretch is folded without a handle")
	}
	if start, end := d.Fit(2, d.Marks().End+5); start != d.Back(2) || end > d.Marks().End {
		g.t.Errorf("a stretch that goes beyond the end is fitted to %d and %d", start, end)
	}
	for start := range 5 {
		f, err := d.Span(ctx, start, 10, g, "old")
		if err != nil {
			return err
		}
		f.Stub = "[gone]"
		if whole := start >= d.Marks().Prompt && d.Back(start) == start; d.Clone().FoldSpan(f) != whole {
			g.t.Errorf("messages %d to 9: folded is not %t", start, whole)
		}
		if s, e := d.Fit(start, 10); s < d.Marks().Prompt || d.Back(s) != s || e > 10 {
			g.t.Errorf("messages %d to 9 are fitted to %d and %d", start, s, e)
		}
	}
	return nil
}

// cutter shortens calls.
type cutter struct{ folds *int }

func (cutter) Name() string { return "cutter" }

func (c cutter) Pull(_ context.Context, d *fold.Draft) error {
	for i, m := range d.Facts() {
		for b, f := range m.Blocks {
			if f.Kind == transcript.KindToolCall && d.FoldBlock(transcript.BlockRef{Message: i, Block: b}, c, "long", "[cut]") != nil {
				*c.folds++
			}
		}
	}
	return nil
}

// TestTextInput: the input of a tool that takes text is cut as text.
func TestTextInput(t *testing.T) {
	folds := 0
	patch := transcript.Call("p1", "apply_patch", strings.Repeat("+ a line\n", 400))
	pleattest.Plan(t, 1_000, []transcript.Message{
		transcript.User("Mend it."), transcript.Assistant(patch),
		transcript.Results(transcript.Result("p1", "done")), transcript.Assistant(transcript.Say("Done.")), transcript.User("Go on."),
	}, cutter{&folds})
	if folds != 1 {
		t.Errorf("%d folds, want 1", folds)
	}
}

// TestLeversMayNot: what no lever may do, a draft does not do.
func TestLeversMayNot(t *testing.T) {
	prompt := transcript.NewMessage(transcript.RoleSystem, transcript.Say("You are careful. Never delete what is not yours."))
	pleattest.Plan(t, 4_000, append([]transcript.Message{prompt}, pleattest.Reading(20, 60)...), greedy{t})
}
