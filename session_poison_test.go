package pleat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// clear folds all there is, and shows nothing for it.
type clear struct{}

func (clear) Name() string { return "clear" }

func (c clear) Pull(ctx context.Context, d *fold.Draft) error {
	f, err := d.Span(ctx, 0, len(d.Facts()), c, "cleared")
	if err == nil {
		d.FoldSpan(f)
	}
	return err
}

// A view has messages, whatever a policy folds.
func TestViewWithoutMessages(t *testing.T) {
	p := fold.Policy{Name: "mine", AtRed: fold.Steps{clear{}}}
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Budget: pleat.Budget{Window: 8_000}})
	mustAppend(t, s, pleattest.Reading(30, 60)...)
	mustAppend(t, s, pleat.Assistant(pleat.Say("Done.")), pleat.User("And now?"))
	if got := view(t, s); len(got) == 0 || len(got) == s.Len() && len(s.Folds()) == 0 {
		t.Errorf("%d messages of %d are shown, with %d folds", len(got), s.Len(), len(s.Folds()))
	}
}

// careless is a lever that cannot say what it saves.
type careless struct{ lever.Mask }

func (careless) Name() string { return "careless" }

func (careless) Saves(fold.Result) int { panic("oops") }

// hasty is a lever that fails at birth.
type hasty struct{ broken }

func (hasty) Name() string { return "hasty" }

func (hasty) MayFold([]int, fold.Limits) bool { panic("oops") }

func (hasty) Born(*fold.Birth) { panic("oops") }

// broken is a lever that fails, or panics.
type broken struct{ err error }

func (broken) Name() string { return "broken" }

func (b broken) Pull(context.Context, *fold.Draft) error {
	if b.err == nil {
		panic("oops")
	}
	return b.err
}

// The levers that do not fail fold without one that does, at birth, when it pays and at red. A warning names
// it, once.
func TestLeverLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		p    fold.Policy
		want string
	}{
		"fails":      {fold.Policy{AtRed: fold.Steps{broken{errors.New("no network")}}}, `lever "broken": no network; `},
		"panics":     {fold.Policy{AtRed: fold.Steps{broken{}}}, `lever "broken" panicked: oops (`},
		"every turn": {fold.Policy{EveryTurn: fold.Steps{broken{}}}, `lever "broken" panicked: oops (`},
		"pays":       {fold.Policy{WhenItPays: fold.Steps{careless{}}}, `lever "careless" panicked: oops (`},
		"at birth":   {fold.Policy{AtBirth: fold.Steps{hasty{}}}, `lever "hasty" panicked: oops (`},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			tt.p.Name, tt.p.AtRed = "mine", append(tt.p.AtRed, lever.Squeeze{})
			s := open(t, store.NewMemory(), &pleat.Options{
				Policy: tt.p, Budget: pleat.Budget{Window: 8_000},
				Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
					if e.Kind == pleat.EventWarning {
						warnings = append(warnings, e.Warning)
					}
				},
			})
			for range 4 {
				mustAppend(t, s, pleattest.Reading(12, 60)...)
				view(t, s)
			}
			if len(s.Folds()) == 0 {
				t.Error("nothing is folded")
			}
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0], tt.want) {
				t.Errorf("warnings: %q", warnings)
			}
			if _, err := s.Pull(t.Context(), broken{}); err == nil {
				t.Error("what a caller pulled is left out")
			}
		})
	}
}
